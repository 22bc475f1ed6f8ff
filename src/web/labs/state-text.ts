import type { LabEntry, StatusData } from "../../contract/schemas/observe.ts";

/** Summarises the state of a lab: "5 running, 1 stopped", "not on the host". Empty while it is unknown. */
export function stateText({ exists }: LabEntry, status: StatusData | undefined): string {
  const isMissing = status === undefined ? !exists : !status.exists;
  if (isMissing && status?.moved_to !== undefined) return `moved to ${status.moved_to} on the host`;
  if (isMissing) return status?.quarantined === true ? "in quarantine" : "not on the host";
  if (status?.live === undefined) return "";
  if (!status.live.available) return "host does not answer";
  const counts = new Map<string, number>();
  for (const node of status.live.nodes ?? []) counts.set(node.status, (counts.get(node.status) ?? 0) + 1);
  if (counts.size === 0) return "no nodes";
  const all = (status.live.nodes ?? []).length;
  return [...counts]
    .sort(([a], [b]) => order.indexOf(a) - order.indexOf(b))
    .map(([state, count]) => (count === all && all > 1 ? `all ${count} ${state}` : `${count} ${state}`))
    .join(", ");
}

const order = ["failed", "running", "starting", "stopping", "suspended", "unknown", "stopped"];

const operationText: Readonly<Record<string, string>> = {
  deployProject: "deployed",
  reconcileProject: "applied",
  importProject: "imported",
  destroyProject: "destroyed",
  execProject: "nodes started or stopped",
  applyLinkQuality: "link quality set",
  setLinkSuspend: "link suspended or resumed",
  editProject: "intent edited",
  resumeLab: "restored",
  renumberLab: "renumbered",
  takeSnapshot: "snapshot taken",
  restoreSnapshot: "restored from a snapshot",
  removeSnapshot: "snapshot removed",
  saveConfigs: "configurations saved",
  testProject: "tests run",
  adoptLab: "adopted",
  endLease: "lease ended",
};

/** Describes the last change, with its outcome unless it succeeded. */
export function changeText(last: StatusData["last_job"]): string {
  if (last === undefined) return "";
  const operation = operationText[last.operation] ?? last.operation;
  const succeeded = last.outcome === "finished" || last.outcome === "finished_after_restart";
  return succeeded ? operation : `${operation}: ${last.outcome.replaceAll("_", " ")}`;
}
