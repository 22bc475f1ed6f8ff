import type { LabEntry } from "../../contract/schemas/observe.ts";
import { call } from "../service/api.ts";
import { Confirm } from "../parts/confirm.tsx";
import { useAnswer } from "../parts/use-answer.ts";

interface DestroyLabProps {
  readonly entry: LabEntry;
  /** What the host can do. */
  readonly features: Readonly<Record<string, boolean>>;
  readonly onConfirm: () => void;
  readonly onCancel: () => void;
}

/** The question before a lab is destroyed: it names what is lost. */
export function DestroyLab({ entry, features, onConfirm, onCancel }: DestroyLabProps) {
  const { lab, name, nodes, exists } = entry;
  const { data: losses } = useAnswer((signal) => lossesOf(lab, features, signal), [lab]);
  return (
    <Confirm title={`Destroy ${name}?`} action="Destroy" word={name} onCancel={onCancel} onConfirm={onConfirm}>
      {exists
        ? `${nodes === 1 ? "Its node is" : nodes === undefined ? "Its nodes are" : `Its ${nodes} nodes are`} stopped, and what is on their disks is lost.`
        : "It is not on the host any more: what is lost is the intent that the service keeps."}{" "}
      {losses}
      {exists && " The intent goes with it: keep the YAML if you want to make the lab again."}
    </Confirm>
  );
}

/** In whole sentences; what cannot be read is left out, as it may be the reason for destroying the lab. */
async function lossesOf(lab: string, { capture, snapshots }: DestroyLabProps["features"], signal: AbortSignal): Promise<string> {
  const [status, plan, captured, snapped] = await Promise.allSettled([
    call("getProjectStatus", { lab }, { signal }),
    call("planProject", { lab, peek: true }, { signal }),
    capture === true ? call("listCaptures", { lab }, { signal }) : { captures: [] },
    snapshots === true ? call("listSnapshots", { lab }, { signal }) : { snapshots: [] },
  ]);
  const up = status.status === "fulfilled" ? (status.value.live?.nodes ?? []).filter((node) => node.status === "running") : [];
  const byHand =
    plan.status === "fulfilled"
      ? [...new Set((plan.value.actions ?? []).flatMap(({ key, origin }) => (origin === "host" || origin === "both" ? [key] : [])))]
      : [];
  const extras = plan.status === "fulfilled" ? (plan.value.summary?.skipped_prune ?? 0) : 0;
  const copies = snapped.status === "fulfilled" ? snapped.value.snapshots.length : 0;
  const count = captured.status === "fulfilled" ? captured.value.captures.length : 0;
  return [
    up.length > 0 ? `Running now: ${someOf(up.map((node) => node.node ?? node.name))}.` : "",
    byHand.length > 0 ? `Changed on the host and not in the intent: ${someOf(byHand)}.` : "",
    extras > 0 ? `On the host alone: ${extras === 1 ? "1 thing" : `${extras} things`} that the intent does not have.` : "",
    copies > 0 ? `${copies === 1 ? "1 snapshot goes" : `${copies} snapshots go`} with it.` : "",
    count > 0 ? `${count === 1 ? "1 capture goes" : `${count} captures go`} with it.` : "",
  ]
    .filter(Boolean)
    .join(" ");
}

function someOf(names: readonly string[]): string {
  const most = 8;
  return names.length <= most ? names.join(", ") : `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}
