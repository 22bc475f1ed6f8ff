import { useState } from "preact/hooks";
import type { Job } from "../../client/browser.ts";
import type { PlanAction } from "../../contract/schemas/plan.ts";

interface JobProgressProps {
  readonly label: string;
  /** Absent: the change has not started. */
  readonly progress?: Pick<Job, "step" | "steps"> & { readonly text?: string };
  /** The steps of the running plan, if known. */
  readonly steps?: readonly PlanAction[];
  /** undefined: the change cannot be cancelled. */
  readonly onCancel: (() => Promise<void>) | undefined;
}

/** Shows the progress of a change, step by step. */
export function JobProgress({ label, progress, steps = [], onCancel }: JobProgressProps) {
  const [cancelling, setCancelling] = useState(false);
  const started = progress !== undefined && progress.steps > 0;
  // A different number of steps belongs to a different plan.
  const known = started && steps.length === progress.steps ? steps : [];
  return (
    <div class="progress">
      <div class="buttons">
        <span role="status">
          {label}
          {started && `: step ${Math.min(progress.step + 1, progress.steps)} of ${progress.steps}`}
          {started && known.length === 0 && progress.text !== undefined && `, ${progress.text}`}
        </span>
        {started && <progress value={progress.step} max={progress.steps} aria-label={label} />}
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
            <li key={id} class={at < progress!.step ? "done" : at === progress!.step ? "current" : ""}>
              {op} {kind} {key}
              <span class="visually-hidden">{at < progress!.step ? ", done" : at === progress!.step ? ", running" : ", waiting"}</span>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
