import Type, { type Static } from "typebox";
import type { JobStarted } from "../../contract/schemas/jobs.ts";
import type { DestroyData, ProjectPayload } from "../../contract/schemas/project.ts";
import { flag, optionalFlag } from "../../contract/schemas/shapes.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import { planDestroy } from "../../engine/plan/plan-destroy.ts";
import { isUnreadableLab } from "../../hosts/host-unreadable.ts";
import { applyOperations, doneUnrecorded } from "../changes/apply.ts";
import type { ChangeKind } from "../changes/change-kind.ts";
import { releaseFolders } from "../changes/lab-folders.ts";
import { refuseLocked, runChange } from "../changes/managed.ts";
import { type Planned, planAgainstHost } from "../changes/planned.ts";
import type { Caller, ChangeCall } from "../common/call.ts";
import { addressDestroy } from "../context/address.ts";
import type { ChangeParts, WorkPart } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import type { Job } from "../jobs/jobs.ts";

/** Journal request of a destroy. */
const DestroyRequest = Type.Object({ wipe: flag, force: optionalFlag });
type DestroyRequest = Static<typeof DestroyRequest>;

export const destroyKind: ChangeKind<typeof DestroyRequest, DestroyData> = {
  operation: "destroyProject",
  version: 1,
  request: DestroyRequest,
  run: ({ context, job, target }, request) => destroyLab(context, job, target, request),
};

/** Removes the lab. If `wipe` is absent or true, also deletes the nodes' disks. */
export async function destroyProject(
  context: ChangeParts,
  caller: Caller,
  payload: ProjectPayload,
  call: ChangeCall,
): Promise<DestroyData | JobStarted> {
  const target = await addressDestroy(context, caller, payload);
  const request: DestroyRequest = { wipe: payload.wipe !== false, ...(payload.force === true && { force: true }) };
  return runChange(context, target, call, destroyKind, request);
}

/** Returns the plan that removes the lab. For a lab that the host cannot read, it only deletes the lab, because its nodes are unknown. */
async function planEnd(context: WorkPart, target: Target, wipe: boolean): Promise<Pick<Planned, "plan" | "observed" | "ids">> {
  try {
    return await planAgainstHost(context, target, null, { direction: "to_host", prune: true, replace: false, wipe });
  } catch (error) {
    if (!isUnreadableLab(error)) throw error;
    const { host, path, ids } = target;
    const name = path.split("/").at(-1) ?? path;
    const nothing = { nodes: [], networks: [], links: [], texts: [], trafficFilters: [] };
    const unread: ObservedLab = { path, id: "", name, locked: false, lock: 0, ...nothing };
    return { plan: planDestroy(unread, await host.rules(), undefined, wipe), observed: null, ids };
  }
}

/** Safe to repeat: deleted parts stay deleted. */
async function destroyLab(context: ChangeParts, job: Job, target: Target, { wipe, force }: DestroyRequest): Promise<DestroyData> {
  const { path, host } = target;
  const { plan, observed, ids } = await planEnd(context, target, wipe);
  refuseLocked(observed);
  const { operations } = plan;
  const owner = target.record?.owner;
  if (operations.length > 0) {
    await applyOperations(context.consoles, host, job, {
      path,
      operations,
      ids,
      ...(owner !== undefined && { owner }),
      ...(force !== undefined && { force }),
    });
  }
  // Nodes that were deleted directly on the host, with their lab or alone, may still run there.
  const there = new Set(observed?.nodes.map(({ id }) => id));
  const gone = Object.fromEntries(Object.entries(target.ids.nodes).filter(([, id]) => !there.has(id)));
  const known = operations.length === 0 || observed !== null;
  if (known && Object.keys(gone).length > 0) {
    for (const warning of (await host.leftRunning?.(path, { ...target.ids, nodes: gone })) ?? []) job.warn(warning);
  }
  // With --no-wipe the disks stay for the next lab at the path.
  if (wipe) await host.snapshots?.removeAll(path);
  await releaseFolders(context, host, path, context.store.labs.get(path)?.folders ?? []);
  try {
    await context.store.labs.delete(path);
  } catch (error) {
    throw doneUnrecorded(error, operations);
  }
  return { lab: path };
}
