import type { DrawActions } from "./use-draw-actions.ts";

interface DrawToolsProps {
  /** undefined: the user may not edit the lab. */
  readonly actions: DrawActions | undefined;
  readonly isAdding: boolean;
  readonly onAdding: (adding: boolean) => void;
  readonly showsText: boolean;
  readonly onText: () => void;
}

/** Buttons above the drawing: add parts, undo and redo, and the text beside the drawing. */
export function DrawTools({ actions, isAdding, onAdding, showsText, onText }: DrawToolsProps) {
  return (
    <>
      {actions !== undefined && (
        <>
          <button type="button" aria-pressed={isAdding} onClick={() => onAdding(!isAdding)}>
            Add
          </button>
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
    </>
  );
}
