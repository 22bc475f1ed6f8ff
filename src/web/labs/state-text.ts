import type { LabEntry, StatusData } from "../../contract/schemas/observe.ts";

/** What a lab does, in a few words: "5 running, 1 stopped"; of one that is not there or not to be read, that. */
export function stateWords({ exists }: LabEntry, status: StatusData | undefined): string {
  const gone = status === undefined ? !exists : !status.exists;
  if (gone) return status?.quarantined === true ? "in quarantine" : "not on the host";
  if (status?.live === undefined) return "";
  if (!status.live.available) return "its host does not answer";
  const counts = new Map<string, number>();
  for (const node of status.live.nodes ?? []) counts.set(node.status, (counts.get(node.status) ?? 0) + 1);
  if (counts.size === 0) return "no nodes";
  const all = (status.live.nodes ?? []).length;
  return [...counts]
    .sort(([a], [b]) => order.indexOf(a) - order.indexOf(b))
    .map(([word, count]) => (count === all && all > 1 ? `all ${count} ${word}` : `${count} ${word}`))
    .join(", ");
}

const order = ["failed", "running", "starting", "stopping", "suspended", "unknown", "stopped"];

const operationWords: Readonly<Record<string, string>> = {
  deployProject: "deployed",
  reconcileProject: "applied",
  importProject: "imported",
  destroyProject: "destroyed",
  execProject: "nodes started or stopped",
  applyLinkQuality: "a link's quality",
  setLinkSuspend: "a link suspended or resumed",
  editProject: "intent edited",
  resumeLab: "resumed",
  renumberLab: "renumbered",
  takeSnapshot: "snapshot taken",
  restoreSnapshot: "restored from a snapshot",
  removeSnapshot: "snapshot removed",
};

/** What the newest change was; how it ended is told where it did not end well. */
export function changeWords(last: StatusData["last_job"]): string {
  if (last === undefined) return "";
  const words = operationWords[last.operation] ?? last.operation;
  const ended = last.outcome === "finished" || last.outcome === "finished_after_restart";
  return ended ? words : `${words}: ${last.outcome.replaceAll("_", " ")}`;
}
