import { Failure } from "../contract/errors.ts";
import type { Operation, StopMode } from "../engine/plan.ts";
import type { Applied, HostSession, NativeIds } from "../hosts/host.ts";
import type { ConsoleDesk } from "./console-desk.ts";
import type { Job } from "./jobs.ts";
import { labLocked } from "./managed.ts";

export interface Application {
  readonly path: string;
  readonly operations: readonly Operation[];
  readonly ids: NativeIds;
  readonly stopMode?: StopMode;
  /** Who a lab that is made belongs to. */
  readonly owner?: string;
  /** Receives the path of each folder that is made for the lab. */
  readonly madeFolder?: (folder: string) => void;
}

/**
 * Runs host steps under a job, each in the journal. Throws lab_locked when the lock was there before the first step, lab_locked_mid_apply
 * after it; what else the host says, with data.applied, data.failed and data.remaining; cancelled when the job was.
 */
export async function applyOperations(
  consoles: ConsoleDesk,
  host: HostSession,
  job: Job,
  { path, operations, ids, stopMode, owner, madeFolder }: Application,
): Promise<Applied> {
  let done = 0;
  let running: string | undefined;
  const byId = new Map(operations.map((operation) => [operation.id, operation]));
  job.begin(operations);
  try {
    const applied = await host.apply(path, operations, {
      ids,
      signal: job.signal,
      ...(stopMode !== undefined && { stopMode }),
      ...(owner !== undefined && { owner }),
      ...(madeFolder !== undefined && { madeFolder }),
      warn: (warning) => job.warn(warning),
      step: (operation, state) => {
        if (state === "running") running = operation;
        else {
          running = undefined;
          done += 1;
          const ended = byId.get(operation);
          if (ended !== undefined) retireConsoles(consoles, path, ended);
          job.done(done);
        }
      },
    });
    if (done < operations.length && job.signal.aborted) throw new Failure("cancelled", "the change was cancelled");
    return applied;
  } catch (error) {
    throw withProgress(error, path, operations, done, running, job);
  }
}

/** A node that went down and comes up again has another console, though under the same id. */
function retireConsoles(consoles: ConsoleDesk, path: string, { step, native_id }: Operation): void {
  if (step.do === "delete-lab") consoles.retireLab(path);
  else if ((step.do === "stop" || step.do === "delete-node") && native_id !== undefined) consoles.retire(path, native_id);
}

function withProgress(
  error: unknown,
  path: string,
  operations: readonly Operation[],
  done: number,
  running: string | undefined,
  job: Job,
): unknown {
  const told = (list: readonly Operation[]) => list.map(({ id, op, kind, key }) => ({ id, op, kind, key }));
  const progress = { applied: told(operations.slice(0, done)), remaining: told(operations.slice(done)) };
  if (job.signal.aborted)
    return new Failure("cancelled", "the change was cancelled after the step in flight", { data: progress, cause: error });
  if (!(error instanceof Failure)) return error;
  if (error.code === "lab_locked" || error.code === "lab_locked_mid_apply") {
    if (done === 0) return labLocked(path, error);
    const text = `${path} was locked on the host while the change ran: part of it is done. Clear the lock (setLabLock, labwright unlock) and apply again`;
    return new Failure("lab_locked_mid_apply", text, { data: { lab: path, ...progress }, cause: error });
  }
  const left = operations.slice(done);
  // A host that runs steps in batches names the one that failed.
  const failed = left.find(({ id }) => id === error.data?.["failed"]) ?? left[0];
  const remaining = told(left.filter((operation) => operation !== failed));
  const data = { ...error.data, applied: progress.applied, failed: failed === undefined ? [] : told([failed]), remaining };
  const where = failed === undefined || running === undefined ? "" : `${failed.op} ${failed.kind} ${failed.key}: `;
  return new Failure(error.code, where + error.message, {
    data,
    cause: error,
    ...(error.retryAfter !== undefined && { retryAfter: error.retryAfter }),
  });
}
