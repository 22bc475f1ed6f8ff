import { plannedSize } from "../../engine/plan/planned-size.ts";
import type { Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import type { Planned } from "../changes/planned.ts";
import type { HostPart, StorePart, WorkPart } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import { labExcess } from "../quotas/admit.ts";
import { excessText } from "../quotas/quota.ts";
import type { Intent } from "../work/intents.ts";

/** Returns a warning if a quota of the lab's owner refuses the planned change. */
export async function quotaProblems(
  context: StorePart & WorkPart & HostPart,
  { path, caller, record }: Target,
  { lab, yaml, files }: Intent,
  { plan, observed, ids, rules }: Planned,
  replace: boolean,
): Promise<readonly Diagnostic[]> {
  const size = plannedSize({ desired: lab, observed: replace ? null : observed, ids, operations: plan.operations, rules });
  const excess = labExcess(context, { path, owner: record?.owner ?? caller.user, size });
  if (excess === undefined) return [];
  const places = await context.work.fieldPlaces(yaml, files, [{ kind: "lab", key: path, field: "name" }]);
  return places.map((place) => ({ severity: "warning", code: "over_quota", message: excessText(excess), ...place }));
}
