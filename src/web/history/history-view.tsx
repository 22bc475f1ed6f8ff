import { useState } from "preact/hooks";
import type { HistoryEntry } from "../../contract/schemas/history.ts";
import { IntentDiff } from "../intent/intent-diff.tsx";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { call } from "../service/api.ts";
import { useEvents } from "../service/events.ts";
import { changeTitle, outcomeText, stepsSummary } from "./entry-text.ts";
import { type PastIntent, readPastIntent } from "./read-past-intent.ts";
import "./history.css";

interface HistoryViewProps {
  readonly lab: string;
  /** Shows an earlier state as edited text; undefined: the user may not edit the lab. */
  readonly onReturn: ((past: PastIntent) => void) | undefined;
}

/** Lists the states of a lab, newest first: who recorded each, when, the steps of the change and its text. */
export default function HistoryView({ lab, onReturn }: HistoryViewProps) {
  const { data, error, again } = useAnswer(async (signal) => (await call("listHistory", { lab }, { signal })).entries, [lab]);
  useEvents(lab, ({ type }) => {
    if (type === "lab" || type === "job" || type === "gap") again();
  });
  if (data === undefined)
    return error === undefined ? <p class="waiting">Reading the history…</p> : <Problem error={error} retry={again} />;
  return (
    <>
      {data.length === 0 && <p class="hint">No state yet. Each apply and each saved edit adds one.</p>}
      <ul class="history-list">
        {data.map((entry, at) => (
          <EntryRow key={entry.serial} lab={lab} entry={entry} before={data[at + 1]} onReturn={onReturn} />
        ))}
      </ul>
    </>
  );
}

interface EntryProps extends HistoryViewProps {
  readonly entry: HistoryEntry;
  /** The state before it. */
  readonly before: HistoryEntry | undefined;
}

function EntryRow({ lab, entry, before, onReturn }: EntryProps) {
  const [isOpen, setOpen] = useState(false);
  const [error, setError] = useState<unknown>();
  const outcome = outcomeText(entry);
  const returnTo = async () => {
    setError(undefined);
    try {
      onReturn?.(await readPastIntent(lab, entry, true));
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <li>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          {changeTitle(entry)} {entry.is_current && <span class="mark">now</span>}
          {outcome !== undefined && <span class="mark warn">{outcome}</span>}{" "}
          <small>
            {entry.user ?? "an earlier version of the service"}, {new Date(entry.at).toLocaleString()}, {stepsSummary(entry)}
          </small>
        </summary>
        {isOpen && <EntryDetails lab={lab} entry={entry} before={before} mayEdit={onReturn !== undefined} />}
      </details>
      {onReturn !== undefined && !entry.is_current && entry.has_text && (
        <button type="button" onClick={() => void returnTo()} title="Show this state as edited text with its plan; nothing changes yet">
          Plan a return to this state
        </button>
      )}
      {error !== undefined && <Problem error={error} />}
    </li>
  );
}

interface DetailsProps extends Pick<EntryProps, "lab" | "entry" | "before"> {
  readonly mayEdit: boolean;
}

/** The steps of the change, and the difference of its text from the one before. */
function EntryDetails({ lab, entry, before, mayEdit }: DetailsProps) {
  const { data, error, again } = useAnswer(
    async (signal) => ({
      now: entry.has_text ? await readPastIntent(lab, entry, mayEdit, signal) : undefined,
      earlier: before?.has_text === true ? await readPastIntent(lab, before, mayEdit, signal) : undefined,
    }),
    [lab, entry.serial, before?.serial, mayEdit],
  );
  return (
    <>
      {entry.steps !== undefined && entry.steps.length > 0 && (
        <ol class="history-steps">
          {entry.steps.map(({ op, kind, key }, at) => (
            <li key={`${at} ${key}`}>
              {op} {kind} {key}
            </li>
          ))}
        </ol>
      )}
      {data === undefined && error === undefined && <p class="hint">Reading the text…</p>}
      {error !== undefined && <Problem error={error} retry={again} />}
      {data !== undefined && data.now === undefined && <p class="hint">The text of this state was too large to keep.</p>}
      {data?.now !== undefined && data.earlier === undefined && <pre class="past-text">{data.now.intent.yaml}</pre>}
      {data?.now !== undefined && data.earlier !== undefined && (
        <IntentDiff before={data.earlier.intent} after={data.now.intent} titles={["Before", "This state"]} />
      )}
    </>
  );
}
