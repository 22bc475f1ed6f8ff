import { Failure } from "../../contract/errors.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { Operation } from "../../engine/model/plan.ts";
import type { NativeIds } from "../../hosts/host.ts";
import type { StorePart } from "../context/parts.ts";
import type { JobRow, LabRecord } from "../store/store.ts";

/** Returns the keys of the nodes that a change should have started, but did not because of this error. */
export function unstarted(operations: readonly Operation[], error: unknown): readonly string[] {
  const failure = error instanceof Failure ? error : undefined;
  // Nothing was changed, so no start is missing.
  if (failure?.code === "lab_locked") return [];
  const applied = failure?.data?.["applied"];
  const done = new Set(Array.isArray(applied) ? applied.map(({ id }: { readonly id: string }) => id) : []);
  return operations.flatMap(({ id, step }) => (step.do === "start" && !done.has(id) ? [step.node] : []));
}

/** Returns the nodes that exist and are down. A node that does not exist is started when it is created. */
export function stillDown(keys: readonly string[], observed: ObservedLab | null, ids: NativeIds): readonly string[] {
  const powers = new Map((observed?.nodes ?? []).map(({ id, power }) => [id, power]));
  return keys.filter((key) => {
    const power = powers.get(ids.nodes[key] ?? "");
    if (power === undefined) return observed?.unseen !== undefined;
    return power !== "running" && power !== "starting";
  });
}

/** Returns the record with exactly these nodes to be started by the next plan. */
export function withOwedStarts(record: LabRecord, keys: readonly string[]): LabRecord {
  const { owedStarts: _before, ...rest } = record;
  return keys.length === 0 ? rest : { ...rest, owedStarts: [...new Set(keys)].sort() };
}

/** Changes whose steps come from a plan. */
const planned: ReadonlySet<string> = new Set(["deployProject", "reconcileProject", "importProject"]);

/** Records the nodes that an interrupted change did not start: the next plan starts them, even if the change itself cannot be finished. */
export async function recordUnstarted({ store }: StorePart, { lab, operation, steps, done }: JobRow): Promise<void> {
  const record = store.labs.get(lab);
  const starts = steps.slice(done).flatMap((step) => (step.do === "start" ? [step.key] : []));
  if (record === undefined || starts.length === 0 || !planned.has(operation)) return;
  await store.labs.put(withOwedStarts(record, [...(record.owedStarts ?? []), ...starts]));
}
