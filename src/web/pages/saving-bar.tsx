import { Problem } from "../parts/problem.tsx";
import type { MovedGraph } from "./use-moves.ts";

/** Shows how many nodes were moved, with buttons to save or undo the moves. Empty without moves. */
export function SavingBar({ unsavedCount, contested, saving, save, undo }: MovedGraph) {
  const { busy = false, notice, error } = saving;
  if (unsavedCount === 0 && notice === undefined && error === undefined) return null;
  return (
    <div class="saving">
      {unsavedCount > 0 && (
        <>
          <span>{unsavedCount === 1 ? "1 node moved" : `${unsavedCount} nodes moved`}</span>
          <button type="button" class="primary" disabled={busy} onClick={() => void save()}>
            Save positions
          </button>
          <button type="button" disabled={busy} onClick={undo}>
            Undo
          </button>
          {contested.length > 0 && (
            <span class="mark warn" role="status">
              Another user has moved {contested.join(", ")} meanwhile. “Save positions” overwrites their positions; “Undo” keeps them.
            </span>
          )}
        </>
      )}
      <output>{busy ? "Saving…" : notice}</output>
      {error !== undefined && <Problem error={error} />}
    </div>
  );
}
