import type { LiveNodeData } from "../../../contract/schemas/observe.ts";

/** Returns the state of a node as the pages show it: a running node that is not ready yet is still booting. */
export function shownStatus({ status, ready }: LiveNodeData): string {
  return status === "running" && ready === false ? "booting" : status;
}
