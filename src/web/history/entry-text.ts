import type { HistoryEntry } from "../../contract/schemas/history.ts";
import { operationText } from "../service/operation-text.ts";

/** Returns the number of a state and what recorded it: "#4 Apply". */
export function changeTitle({ serial, operation }: Pick<HistoryEntry, "serial" | "operation">): string {
  return operation === undefined ? `#${serial}` : `#${serial} ${operationText(operation)}`;
}

/** Returns how the change ended, unless it did as usual. */
export function outcomeText({ outcome }: Pick<HistoryEntry, "outcome">): string | undefined {
  return outcome === undefined || outcome === "finished" ? undefined : outcome.replaceAll("_", " ");
}

/** Returns the size of the change and of the lab: "3 steps; 4 nodes, 5 links". */
export function stepsSummary(entry: Pick<HistoryEntry, "job" | "outcome" | "step_count" | "nodes" | "links">): string {
  const { job, outcome, step_count: steps, nodes, links } = entry;
  const change = job === undefined ? "only the text" : outcome === undefined ? "running" : counted(steps ?? 0, "step");
  return `${change}; ${counted(nodes, "node")}, ${counted(links, "link")}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
