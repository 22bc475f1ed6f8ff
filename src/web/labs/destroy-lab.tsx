import { nodeKey } from "../../base/node-key.ts";
import type { LabEntry } from "../../contract/schemas/observe.ts";
import { Confirm } from "../dialog/confirm.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { call } from "../service/api.ts";

interface DestroyLabProps {
  readonly entry: LabEntry;
  /** The host's features. */
  readonly features: Readonly<Record<string, boolean>>;
  readonly onConfirm: () => void;
  readonly onCancel: () => void;
}

/** Asks before a lab is destroyed, and names what is lost. */
export function DestroyLab({ entry, features, onConfirm, onCancel }: DestroyLabProps) {
  const { lab, name, nodes, exists } = entry;
  const { data: losses } = useAnswer((signal) => lossesOf(lab, features, signal), [lab]);
  return (
    <Confirm title={`Destroy ${name}?`} action="Destroy" word={name} onCancel={onCancel} onConfirm={onConfirm}>
      {exists
        ? `${nodes === 1 ? "Its node is" : nodes === undefined ? "Its nodes are" : `Its ${nodes} nodes are`} stopped, and their disks are deleted.`
        : "It is no longer on the host. The intent that the service keeps is deleted."}{" "}
      {losses}
      {exists && " The intent is deleted, too: keep the YAML if you want to deploy the lab again."}
    </Confirm>
  );
}

/** Returns sentences about what is lost. Parts that cannot be read are left out: they may be the reason for destroying the lab. */
async function lossesOf(lab: string, { capture, snapshots }: DestroyLabProps["features"], signal: AbortSignal): Promise<string> {
  const [status, plan, captured, snapped] = await Promise.allSettled([
    call("getProjectStatus", { lab }, { signal }),
    call("planProject", { lab, peek: true }, { signal }),
    capture === true ? call("listCaptures", { lab }, { signal }) : { captures: [] },
    snapshots === true ? call("listSnapshots", { lab }, { signal }) : { snapshots: [] },
  ]);
  const running = status.status === "fulfilled" ? (status.value.live?.nodes ?? []).filter((node) => node.status === "running") : [];
  const changedOnHost =
    plan.status === "fulfilled"
      ? [...new Set((plan.value.actions ?? []).flatMap(({ key, origin }) => (origin === "host" || origin === "both" ? [key] : [])))]
      : [];
  const extras = plan.status === "fulfilled" ? (plan.value.summary?.skipped_prune ?? 0) : 0;
  const copies = snapped.status === "fulfilled" ? snapped.value.snapshots.length : 0;
  const count = captured.status === "fulfilled" ? captured.value.captures.length : 0;
  return [
    running.length > 0 ? `Running now: ${someOf(running.map(nodeKey))}.` : "",
    changedOnHost.length > 0 ? `Changed on the host and not in the intent: ${someOf(changedOnHost)}.` : "",
    extras > 0 ? `${extras === 1 ? "1 part exists" : `${extras} parts exist`} only on the host.` : "",
    copies > 0 ? `${copies === 1 ? "1 snapshot is" : `${copies} snapshots are`} deleted, too.` : "",
    count > 0 ? `${count === 1 ? "1 capture is" : `${count} captures are`} deleted, too.` : "",
  ]
    .filter(Boolean)
    .join(" ");
}

function someOf(names: readonly string[]): string {
  const max = 8;
  return names.length <= max ? names.join(", ") : `${names.slice(0, max).join(", ")} and ${names.length - max} more`;
}
