import { useEffect } from "preact/hooks";
import type { LabEntry } from "../../contract/schemas/observe.ts";
import type { MenuItem } from "../menu/menu.tsx";
import { MenuButton } from "../menu/menu-button.tsx";
import { concurrencyLimit } from "../parts/concurrency-limit.ts";
import { Link } from "../parts/link.tsx";
import { goTo } from "../parts/route.ts";
import { useAnswer } from "../parts/use-answer.ts";
import { call } from "../service/api.ts";
import { ShareButton } from "../share/share-button.tsx";
import { DriftMark } from "./drift-mark.tsx";
import { leaseSummary, momentText } from "./notices/lease-state.ts";
import { changeText, stateText } from "./state-text.ts";
import { useDrift } from "./use-drift.ts";
import type { LabActions } from "./use-lab-actions.ts";

interface LabRowProps {
  readonly entry: LabEntry;
  /** Counters of changes: `state` increases with each event of the lab, `shape` if more than the state of nodes may have changed. */
  readonly changes: { readonly state: number; readonly shape: number };
  readonly mayChange: boolean;
  readonly mayDuplicate: boolean;
  readonly actions: LabActions;
  /** Opens the dialog of an action. */
  readonly onAsk: (what: "destroy" | "duplicate" | "stop") => void;
}

const limit = concurrencyLimit(4);

/** A lab in the list, with its state. */
export function LabRow({ entry, changes, mayChange, mayDuplicate, actions, onAsk }: LabRowProps) {
  const { lab, right } = entry;
  const status = useAnswer((signal) => limit(() => call("getProjectStatus", { lab }, { signal }), signal), [lab]);
  useEffect(() => {
    if (changes.state > 0) status.again();
  }, [changes.state]);
  const running = status.data?.operation;
  const state = stateText(entry, status.data);
  const failed = status.data?.live?.nodes?.some((node) => node.status === "failed") === true;
  const managed = right !== undefined;
  const lease = status.data?.lease ?? entry.lease;
  const changed = status.data?.last_job?.finished_at ?? entry.updated_at;
  return (
    <tr>
      <th scope="row">
        <Link to={{ page: "lab", lab, view: "topology" }}>{entry.name}</Link> <small>{lab}</small>
        {entry.machine !== undefined && (
          <>
            {" "}
            <small>on {entry.machine}</small>
          </>
        )}
        {(entry.locked ?? status.data?.locked) === true && <span class="mark">locked</span>}
      </th>
      <td data-title="State">
        <span class={failed ? "bad" : ""}>{state === "" ? "…" : state}</span>
        {running !== undefined && (
          <small>
            {" "}
            {running.name} by {running.user}
            {running.steps > 0 && `: step ${running.step} of ${running.steps}`}
          </small>
        )}
        {(status.data?.resume?.waiting ?? []).length > 0 && <small> {status.data!.resume!.waiting!.length} waiting to be restored</small>}
        {entry.unreachable_since !== undefined && (
          <small class="bad">
            {" "}
            {entry.machine} does not answer since {momentText(entry.unreachable_since, Date.now())}
          </small>
        )}
        {lease !== undefined && <small class="lease">{leaseSummary(lease, Date.now())}</small>}
      </td>
      <td data-title="Intent">
        {managed && entry.exists ? <RowDrift lab={lab} shape={changes.shape} /> : <small>only on its host</small>}
      </td>
      <td data-title="Owner">{entry.owner ?? "–"}</td>
      <td data-title="Last change">
        {changed === undefined ? "–" : <Moment at={changed} />} <small>{changeText(status.data?.last_job)}</small>
      </td>
      <td>
        <div class="buttons">
          {mayChange && right === "own" && <ShareButton lab={lab} />}
          <MenuButton label={`Actions of ${entry.name}`} items={rowItems({ entry, mayChange, mayDuplicate, actions, onAsk })} />
        </div>
      </td>
    </tr>
  );
}

type RowItemsInput = Pick<LabRowProps, "entry" | "mayChange" | "mayDuplicate" | "actions" | "onAsk">;

/** Returns the actions that the user's role and right allow. */
function rowItems({ entry, mayChange, mayDuplicate, actions, onAsk }: RowItemsInput): readonly MenuItem[] {
  const { lab, right, exists } = entry;
  const mayOperate = mayChange && exists && right !== undefined && right !== "view";
  return [
    { label: "Open", run: () => goTo({ page: "lab", lab, view: "topology" }) },
    ...(mayOperate
      ? [
          { label: "Start all", run: () => actions.power(entry, "start") },
          { label: "Stop all…", run: () => onAsk("stop") },
        ]
      : []),
    ...(mayChange && mayDuplicate && exists ? [{ label: "Duplicate…", run: () => onAsk("duplicate") }] : []),
    ...(right === undefined ? [] : [{ label: "Download", run: () => actions.download(entry) }]),
    ...(mayChange && right === "own" ? [{ label: "Destroy…", isDangerous: true, run: () => onAsk("destroy") }] : []),
  ];
}

/** The drift of a lab in the list. Only for labs with an intent. */
function RowDrift({ lab, shape }: { readonly lab: string; readonly shape: number }) {
  const drift = useDrift(lab, true);
  useEffect(() => {
    if (shape > 0) drift.again();
  }, [shape]);
  return <DriftMark lab={lab} drift={drift} />;
}

function Moment({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {momentText(at, Date.now())}
    </time>
  );
}
