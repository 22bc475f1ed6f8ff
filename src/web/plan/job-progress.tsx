import type { Job } from "../../client/browser.ts";

interface JobProgressProps {
  readonly words: string;
  /** The states it went through, the newest last. */
  readonly steps: readonly Job[];
  /** Absent: it cannot be cancelled. */
  readonly onCancel: (() => Promise<void>) | undefined;
}

/** How far a change is, step by step. */
export function JobProgress({ words, steps, onCancel }: JobProgressProps) {
  const now = steps.at(-1);
  const told = steps.flatMap(({ text }) => (text === undefined ? [] : [text])).filter((text, at, all) => all.indexOf(text) === at);
  return (
    <div class="progress" role="status">
      <div class="buttons">
        <span>
          {words}
          {now !== undefined && now.steps > 0 && `: step ${now.step} of ${now.steps}`}
        </span>
        {now !== undefined && now.steps > 0 && <progress value={now.step} max={now.steps} aria-label={words} />}
        {onCancel !== undefined && (
          <button type="button" onClick={() => void onCancel()}>
            Cancel
          </button>
        )}
      </div>
      {told.length > 0 && (
        <ol>
          {told.slice(-8).map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ol>
      )}
    </div>
  );
}
