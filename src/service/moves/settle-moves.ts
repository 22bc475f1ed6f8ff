import type { HostMoves, StagedLab } from "../../hosts/host-fleet.ts";
import { storedRequest } from "../changes/change-kind.ts";
import { guarded } from "../changes/managed.ts";
import { addressRecorded } from "../context/address.ts";
import type { Context } from "../context/context.ts";
import { powerKind } from "../power/power.ts";
import type { MachineStore } from "../store/machines.ts";

/**
 * Finishes the moves that a crash or a broken connection left, on both sides. The database decides: a lab whose job another machine has ended as done is there,
 * and its copy here is removed; a lab that has arrived and is owned by this machine becomes a lab of it; everything else stays or is dropped. Throws
 * store_unavailable.
 */
export async function settleMoves(context: Context): Promise<void> {
  const machines = context.store.shared?.machines;
  const { moves } = context.host;
  if (machines?.own === undefined || moves === undefined) return;
  await settleArrivals(context, machines, moves);
  await settleLeavings(context, machines, moves);
}

/** Before anything else uses the labs of this machine: those that have arrived become labs of it. */
export async function settleArrivals(context: Context, machines: MachineStore, moves: HostMoves): Promise<void> {
  const { moving, log } = context;
  for (const staged of await moves.staged()) {
    const { job, lab, isComplete, isAdopted } = staged;
    if (moving.arriving.has(job)) continue;
    if (isAdopted) {
      await startArrived(context, moves, staged);
      continue;
    }
    const isOurs = isComplete && (await context.store.jobs.get(job))?.status === "done" && (await ownedHere(machines, lab));
    if (isOurs) {
      await moves.adopt(job);
      log("warn", "a lab whose move was cut off is here now", { lab, job });
      await startArrived(context, moves, staged);
    } else if (!moving.arriving.has(job)) await moves.drop(job);
  }
}

async function settleLeavings(context: Context, machines: MachineStore, moves: HostMoves): Promise<void> {
  const { jobs, store, log } = context;
  for (const { lab, job, start } of await moves.leaving()) {
    if (jobs.running(lab) !== undefined) continue;
    const status = (await store.jobs.get(job))?.status;
    if (status === "running") continue;
    if (await ownedHere(machines, lab)) {
      await moves.setLeaving(lab, undefined);
      await startOwed(context, lab, start);
    } else if (status === "done") {
      await moves.leave(lab);
      log("info", "the copy of a lab that was moved to another machine is removed", { lab, job });
    } else await moves.setLeaving(lab, undefined);
  }
}

async function ownedHere(machines: MachineStore, lab: string): Promise<boolean> {
  return (await machines.owners()).get(lab) === machines.own;
}

/** Starts the nodes of a lab that has arrived, and forgets its move. Never rejects. */
export async function startArrived(
  context: Context,
  moves: HostMoves,
  { job, lab, start }: Pick<StagedLab, "job" | "lab" | "start">,
): Promise<void> {
  const { moving, log } = context;
  if (moving.arriving.has(job)) return;
  moving.arriving.add(job);
  try {
    if (!(await moves.staged()).some((one) => one.job === job && one.isAdopted)) return;
    await startOwed(context, lab, start);
    await moves.drop(job);
  } catch (error) {
    log("error", "the nodes of a lab that was moved could not be started", { lab, error: String(error) });
  } finally {
    moving.arriving.delete(job);
  }
}

/** Starts those of the nodes that are still owed: somebody else may have started them, or have destroyed the lab. Failures are in the journal. */
async function startOwed(context: Context, lab: string, start: readonly string[]): Promise<void> {
  const record = context.store.labs.get(lab);
  const nodes = start.filter((key) => record?.owedStarts?.includes(key) === true);
  if (record === undefined || nodes.length === 0) return;
  const host = await context.sessions.resume(record.owner);
  const request = { action: "start" as const, nodes, listed: true, mode: 3 as const };
  try {
    const target = await addressRecorded(context, lab, record.owner, host, `start of ${lab} after its move`);
    const { result } = await context.jobs.start({
      operation: powerKind.operation,
      lab,
      user: record.owner,
      request: storedRequest(powerKind, request),
      work: (job) => guarded(context, target, job, () => powerKind.run({ context, job, target }, request)),
    });
    await result.catch((error: unknown) =>
      context.log("error", "nodes of a lab that was moved did not start", { lab, error: String(error) }),
    );
  } finally {
    await host.close();
  }
}
