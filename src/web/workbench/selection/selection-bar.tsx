import type { MenuItem } from "../../menu/menu.tsx";

interface SelectionBarProps {
  /** Names of the selected parts. */
  readonly names: readonly string[];
  readonly items: readonly MenuItem[];
  /** The running action of nodes, or its result. */
  readonly notice: string | undefined;
}

/** Buttons for several selected parts. */
export function SelectionBar({ names, items, notice }: SelectionBarProps) {
  if (names.length < 2) return null;
  return (
    <div class="selection-bar" role="toolbar" aria-label="Selected parts">
      <span title={names.join(", ")}>{names.length} selected</span>
      {items.map(({ label, keys, isDangerous, run }) => (
        <button key={label} type="button" title={keys} class={isDangerous === true ? "danger" : undefined} onClick={run}>
          {label}
        </button>
      ))}
      <output>{notice}</output>
    </div>
  );
}
