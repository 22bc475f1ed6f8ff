import type { DrawActions } from "./actions/use-draw-actions.ts";
import type { NodesPower } from "./actions/use-nodes-power.ts";

interface SelectionBarProps {
  /** Names of the selected parts. */
  readonly names: readonly string[];
  /** Unique keys of the selected nodes on the host. */
  readonly nodes: readonly string[];
  readonly selected: ReadonlySet<string>;
  /** undefined: the user may not edit the lab. */
  readonly actions: DrawActions | undefined;
  /** undefined: the user may not operate the lab. */
  readonly power: NodesPower | undefined;
  /** Asks, and then wipes nodes. */
  readonly onWipe: (nodes: readonly string[]) => void;
}

/** Buttons for several selected parts. */
export function SelectionBar({ names, nodes, selected, actions, power, onWipe }: SelectionBarProps) {
  if (names.length < 2) return null;
  return (
    <div class="selection-bar" role="toolbar" aria-label="Selected parts">
      <span title={names.join(", ")}>{names.length} selected</span>
      {power !== undefined && nodes.length > 0 && (
        <>
          <button type="button" onClick={() => power.run("start", nodes)}>
            Start
          </button>
          <button type="button" onClick={() => power.run("stop", nodes)}>
            Stop
          </button>
          <button type="button" onClick={() => power.run("restart", nodes)}>
            Restart
          </button>
          <button type="button" onClick={() => onWipe(nodes)}>
            Wipe…
          </button>
        </>
      )}
      {actions !== undefined && (
        <>
          <button type="button" onClick={() => actions.align("y")}>
            Align in a row
          </button>
          <button type="button" onClick={() => actions.align("x")}>
            Align in a column
          </button>
          <button type="button" disabled={names.length < 3} onClick={() => actions.distribute("x")}>
            Distribute across
          </button>
          <button type="button" disabled={names.length < 3} onClick={() => actions.distribute("y")}>
            Distribute down
          </button>
          <button type="button" onClick={() => actions.copy(selected)}>
            Copy
          </button>
          <button type="button" onClick={() => actions.duplicate(selected)}>
            Duplicate
          </button>
          <button type="button" class="danger" onClick={() => actions.remove(selected)}>
            Delete
          </button>
        </>
      )}
    </div>
  );
}
