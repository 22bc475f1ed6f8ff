import { useLayoutEffect, useRef } from "preact/hooks";
import "./menu.css";

/** An entry of a context menu. */
export interface MenuItem {
  readonly label: string;
  readonly keys?: string;
  readonly isDangerous?: boolean;
  readonly run: () => void;
}

interface MenuProps {
  readonly label: string;
  /** Position in the window, px. */
  readonly x: number;
  readonly y: number;
  readonly items: readonly MenuItem[];
  readonly onClose: () => void;
}

/** A context menu. Arrow keys choose an entry; Escape, Tab and a click elsewhere close it. */
export function Menu({ label, x, y, items, onClose }: MenuProps) {
  const menu = useRef<HTMLDivElement>(null);
  // In a layout effect, because the chosen entry may open a dialog: the focus must be back at its earlier place before, as the dialog returns it there.
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    menu.current!.querySelector("button")?.focus();
    const onPress = (event: PointerEvent) => !menu.current!.contains(event.target as Node) && onClose();
    addEventListener("pointerdown", onPress, { capture: true });
    return () => {
      removeEventListener("pointerdown", onPress, { capture: true });
      before?.focus();
    };
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" || event.key === "Tab") return onClose();
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const buttons = [...menu.current!.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    buttons[(at + step + buttons.length) % buttons.length]?.focus();
  };
  return (
    <div
      ref={menu}
      class="menu"
      role="menu"
      tabIndex={-1}
      aria-label={label}
      style={{ left: `min(${x}px, 100vw - 15rem)`, top: `min(${y}px, 100vh - ${items.length * 2.2}rem)` }}
      onKeyDown={onKeyDown}
    >
      {items.map(({ label: text, keys, isDangerous, run }) => (
        <button
          key={text}
          type="button"
          role="menuitem"
          class={isDangerous === true ? "danger" : ""}
          onClick={() => {
            onClose();
            run();
          }}
        >
          {text} {keys !== undefined && <kbd>{keys}</kbd>}
        </button>
      ))}
    </div>
  );
}
