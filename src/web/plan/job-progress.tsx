import { useState } from "preact/hooks";
import type { Job } from "../../client/browser.ts";
import type { PlanAction } from "../../contract/schemas/plan.ts";

interface JobProgressProps {
  readonly words: string;
  /** The state that it is in; absent: it has not begun. */
  readonly now?: Pick<Job, "step" | "steps"> & { readonly text?: string };
  /** The steps of the plan that runs, where it is known. */
  readonly operations?: readonly PlanAction[];
  /** Absent: it cannot be cancelled. */
  readonly onCancel: (() => Promise<void>) | undefined;
}

/** How far a change is, step by step. */
export function JobProgress({ words, now, operations = [], onCancel }: JobProgressProps) {
  const [cancelling, setCancelling] = useState(false);
  const begun = now !== undefined && now.steps > 0;
  // Of another number of steps it is another plan.
  const known = begun && operations.length === now.steps ? operations : [];
  return (
    <div class="progress">
      <div class="buttons">
        <span role="status">
          {words}
          {begun && `: step ${Math.min(now.step + 1, now.steps)} of ${now.steps}`}
          {begun && known.length === 0 && now.text !== undefined && `, ${now.text}`}
        </span>
        {begun && <progress value={now.step} max={now.steps} aria-label={words} />}
        {onCancel !== undefined && (
          <button
            type="button"
            disabled={cancelling}
            onClick={() => {
              setCancelling(true);
              void onCancel();
            }}
          >
            {cancelling ? "Cancelling after this step…" : "Cancel"}
          </button>
        )}
      </div>
      {known.length > 0 && (
        <ol class="steps">
          {known.map(({ id, op, kind, key }, at) => (
            <li key={id} class={at < now!.step ? "done" : at === now!.step ? "current" : ""}>
              {op} {kind} {key}
              <span class="unseen">{at < now!.step ? ", done" : at === now!.step ? ", running" : ", waits"}</span>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
