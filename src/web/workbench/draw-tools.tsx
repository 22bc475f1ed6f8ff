import type { LayoutKind } from "../../layout/layout.ts";
import type { DrawActions } from "./edits/draw-actions.ts";

interface DrawToolsProps {
  /** undefined: the user may not edit the lab. */
  readonly actions: DrawActions | undefined;
  readonly isAdding: boolean;
  readonly onAdding: (adding: boolean) => void;
  readonly showsText: boolean;
  readonly onText: () => void;
  /** Shows the keys of the drawing. */
  readonly onKeys: () => void;
}

/** Buttons above the drawing: add parts, undo and redo, and the text beside the drawing. */
export function DrawTools({ actions, isAdding, onAdding, showsText, onText, onKeys }: DrawToolsProps) {
  return (
    <>
      {actions !== undefined && (
        <>
          <button type="button" aria-pressed={isAdding} onClick={() => onAdding(!isAdding)}>
            Add
          </button>
          <select
            aria-label="Arrange"
            value=""
            onChange={(event) => {
              actions.arrange(event.currentTarget.value as LayoutKind);
              event.currentTarget.value = "";
            }}
          >
            <option value="" disabled>
              Arrange…
            </option>
            <option value="auto">Automatically</option>
            <option value="tiers">In tiers</option>
            <option value="rings">In rings</option>
            <option value="distances">By distance</option>
          </select>
          <button type="button" disabled={actions.undo === undefined} onClick={actions.undo} title="Ctrl+Z">
            Undo
          </button>
          <button type="button" disabled={actions.redo === undefined} onClick={actions.redo} title="Ctrl+Y">
            Redo
          </button>
        </>
      )}
      <button type="button" aria-pressed={showsText} onClick={onText}>
        Text
      </button>
      <button type="button" title="?" onClick={onKeys}>
        Keys
      </button>
    </>
  );
}
