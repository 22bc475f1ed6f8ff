import { useEffect } from "preact/hooks";
import type { LabEntry } from "../../contract/schemas/observe.ts";
import { call } from "../service/api.ts";
import { DriftMark } from "./drift-mark.tsx";
import { inTurns } from "../parts/concurrency-limit.ts";
import { Link } from "../parts/link.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { useDrift } from "./use-drift.ts";
import { changeWords, stateWords } from "./state-text.ts";

interface LabRowProps {
  readonly entry: LabEntry;
  /** Another number whenever something happened in the lab, and whenever something other than nodes' states may have changed. */
  readonly seen: { readonly state: number; readonly shape: number };
  readonly mayChange: boolean;
  readonly mayImport: boolean;
  readonly onDestroy: () => void;
  readonly onImport: () => void;
}

const turn = inTurns(4);

/** A lab in the list, with how it does. */
export function LabRow({ entry, seen, mayChange, mayImport, onDestroy, onImport }: LabRowProps) {
  const { lab, right } = entry;
  const status = useAnswer((signal) => turn(() => call("getProjectStatus", { lab }, { signal }), signal), [lab]);
  useEffect(() => {
    if (seen.state > 0) status.again();
  }, [seen.state]);
  const running = status.data?.operation;
  const words = stateWords(entry, status.data);
  const failed = status.data?.live?.nodes?.some((node) => node.status === "failed") === true;
  const managed = right !== undefined;
  const changed = status.data?.last_job?.finished_at ?? entry.updated_at;
  return (
    <tr>
      <th scope="row">
        <Link to={{ page: "lab", lab, view: "topology" }}>{entry.name}</Link> <small>{lab}</small>
        {(entry.locked ?? status.data?.locked) === true && <span class="mark">locked</span>}
      </th>
      <td data-title="State">
        <span class={failed ? "bad" : ""}>{words === "" ? "…" : words}</span>
        {running !== undefined && (
          <small>
            {" "}
            {running.name} by {running.user}
            {running.steps > 0 && `: step ${running.step} of ${running.steps}`}
          </small>
        )}
        {(status.data?.resume?.waiting ?? []).length > 0 && <small> {status.data!.resume!.waiting!.length} wait to be resumed</small>}
      </td>
      <td data-title="Intent">{managed && entry.exists ? <RowDrift lab={lab} shape={seen.shape} /> : <small>only on its host</small>}</td>
      <td data-title="Owner">{entry.owner ?? "–"}</td>
      <td data-title="Last change">
        {changed === undefined ? "–" : <Moment at={changed} />} <small>{changeWords(status.data?.last_job)}</small>
      </td>
      <td>
        <div class="buttons">
          {mayChange && mayImport && !managed && (
            <button type="button" onClick={onImport}>
              Import…<span class="unseen"> {entry.name}</span>
            </button>
          )}
          {mayChange && right === "own" && (
            <button type="button" class="danger" onClick={onDestroy}>
              Destroy…<span class="unseen"> {entry.name}</span>
            </button>
          )}
        </div>
      </td>
    </tr>
  );
}

/** Only of labs with an intent: the others have nothing to differ from. */
function RowDrift({ lab, shape }: { readonly lab: string; readonly shape: number }) {
  const drift = useDrift(lab, true);
  useEffect(() => {
    if (shape > 0) drift.again();
  }, [shape]);
  return <DriftMark lab={lab} drift={drift} />;
}

function Moment({ at }: { readonly at: string }) {
  const time = new Date(at);
  const today = time.toDateString() === new Date().toDateString();
  const words = today
    ? time.toLocaleTimeString(undefined, { timeStyle: "short" })
    : time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return (
    <time dateTime={at} title={time.toLocaleString()}>
      {words}
    </time>
  );
}
