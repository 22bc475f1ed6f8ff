import type { Operation } from "../../engine/model/plan.ts";
import type { HostSession } from "../../hosts/host.ts";
import type { Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import type { WorkPart } from "../context/parts.ts";
import type { Intent } from "../work/intents.ts";

/** Returns a warning if the host's other labs leave no room for the new nodes to run beside them. @param count of the new nodes */
export async function newNodeProblems(
  { work }: WorkPart,
  { checkNewNodes }: Pick<HostSession, "checkNewNodes">,
  { yaml, files }: Pick<Intent, "yaml" | "files">,
  path: string,
  count: number,
): Promise<readonly Diagnostic[]> {
  const message = count === 0 ? undefined : await checkNewNodes?.(path, count);
  if (message === undefined) return [];
  const places = await work.fieldPlaces(yaml, files, [{ kind: "lab", key: path, field: "name" }]);
  return places.map((place) => ({ severity: "warning", code: "few_numbers", message, ...place }));
}

export function countNewNodes(operations: readonly Operation[]): number {
  return operations.filter(({ step }) => step.do === "create-node").length;
}
