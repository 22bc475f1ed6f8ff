import { plannedSize } from "../../engine/plan/planned-size.ts";
import type { Diagnostic } from "../../intent/diagnostics/diagnostic.ts";
import type { Planned } from "../changes/planned.ts";
import type { ClockPart, HostPart, MemoryPart, StorePart, WorkPart } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import { leaseAfter, leaseEnd } from "../leases/lease.ts";
import { labExcess } from "../quotas/admit.ts";
import { excessText } from "../quotas/quota.ts";
import { takenRoom, takenText } from "../reservations/admit.ts";
import type { Intent } from "../work/intents.ts";

/** Returns warnings if a quota of the lab's owner, or reservations of other users, refuse the planned change. */
export async function quotaProblems(
  context: StorePart & WorkPart & HostPart & ClockPart & MemoryPart,
  { path, caller, record }: Target,
  { lab, yaml, files }: Intent,
  { plan, observed, ids, rules }: Planned,
  replace: boolean,
): Promise<readonly Diagnostic[]> {
  const size = plannedSize({ desired: lab, observed: replace ? null : observed, ids, operations: plan.operations, rules });
  const owner = record?.owner ?? caller.user;
  const now = context.clock.now();
  const excess = labExcess(context, { path, owner, size });
  const until = leaseEnd(leaseAfter(record?.lease, lab.lease, now));
  const taken = takenRoom(context, { path, owner, size, until, now, isSpread: lab.place?.spread !== undefined });
  if (excess === undefined && taken === undefined) return [];
  const places = await context.work.fieldPlaces(yaml, files, [{ kind: "lab", key: path, field: "name" }]);
  return places.flatMap((place): readonly Diagnostic[] => [
    ...(excess === undefined ? [] : [{ severity: "warning", code: "over_quota", message: excessText(excess), ...place } as const]),
    ...(taken === undefined ? [] : [{ severity: "warning", code: "room_reserved", message: takenText(taken), ...place } as const]),
  ]);
}
