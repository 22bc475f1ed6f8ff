import { Failure } from "../../contract/errors.ts";
import type { Operation, StopMode } from "../../engine/model/plan.ts";
import type { Applied, HostSession, NativeIds, Progress } from "../../hosts/host.ts";
import { applyInOrder, type StartOrder } from "../conditions/start-order.ts";
import { inKeyText } from "../context/in-keys.ts";
import type { Job } from "../jobs/jobs.ts";
import type { ConsoleDesk } from "../streams/console-desk.ts";
import { labLocked } from "./managed.ts";

export interface Application {
  readonly path: string;
  readonly operations: readonly Operation[];
  readonly ids: NativeIds;
  readonly stopMode?: StopMode;
  /** Owner of the lab; absent: unknown to the service. */
  readonly owner?: string;
  /** Progress.madeFolder */
  readonly madeFolder?: (folder: string, isOurs: boolean) => void;
  readonly force?: boolean;
  /** Absent: nodes start together. */
  readonly order?: StartOrder;
}

/**
 * Runs host steps under a job, each in the journal. Throws lab_locked if the lock was set before the first step, lab_locked_mid_apply
 * if it was set later; any other failure of the host, with data.applied, data.failed and data.remaining; cancelled when the job was.
 */
export async function applyOperations(
  consoles: ConsoleDesk,
  host: HostSession,
  job: Job,
  { path, operations, ids, stopMode, owner, madeFolder, force, order }: Application,
): Promise<Applied> {
  const done = new Set<string>();
  /** Number of finished steps without a gap: after a crash, all later steps count as not done. */
  let inRow = 0;
  let running: string | undefined;
  const byId = new Map(operations.map((operation) => [operation.id, operation]));
  await job.begin(operations);
  try {
    const progress: Omit<Progress, "ids"> = {
      signal: job.signal,
      ...(stopMode !== undefined && { stopMode }),
      ...(owner !== undefined && { owner }),
      ...(madeFolder !== undefined && { madeFolder }),
      ...(force !== undefined && { force }),
      warn: (warning) => job.warn(warning),
      step: (operation, state) => {
        if (state === "running") running = operation;
        else {
          running = undefined;
          done.add(operation);
          const ended = byId.get(operation);
          if (ended !== undefined) retireConsoles(consoles, path, ended);
          while (inRow < operations.length && done.has(operations[inRow]!.id)) inRow += 1;
          job.done(inRow);
        }
      },
    };
    const applied = await applyInOrder(operations, order, ids, job, (some, known) => host.apply(path, some, { ids: known, ...progress }));
    if (done.size < operations.length && job.signal.aborted) throw new Failure("cancelled", "the change was cancelled");
    return applied;
  } catch (error) {
    throw withProgress(error, path, operations, done, running, job);
  }
}

/** A restarted node has a new console, although its id is the same. */
function retireConsoles(consoles: ConsoleDesk, path: string, { step, native_id }: Operation): void {
  if (step.do === "delete-lab") consoles.retireLab(path);
  else if ((step.do === "stop" || step.do === "delete-node") && native_id !== undefined) consoles.retire(path, native_id);
}

/** A failed step, with its reason if the host reports one. */
interface FailedStep {
  readonly id: string;
  readonly message?: string;
}

/** Converts a failure after all steps, to read the lab or to write its record: the message and the data list the finished steps. */
export function doneUnrecorded(error: unknown, operations: readonly Operation[]): unknown {
  if (!(error instanceof Failure) || operations.length === 0) return error;
  const { code, message, data, retryAfter } = error;
  const problem = code === "internal" ? "the record of it could not be written" : "the lab could not be read afterwards";
  const applied = operations.map(({ id, op, kind, key }) => ({ id, op, kind, key }));
  return new Failure(code, `the host did every step (${operations.length} of ${operations.length}), but ${problem}: ${message}`, {
    data: { ...data, applied, failed: [], remaining: [] },
    cause: error,
    ...(retryAfter !== undefined && { retryAfter }),
  });
}

function withProgress(
  error: unknown,
  path: string,
  operations: readonly Operation[],
  done: ReadonlySet<string>,
  running: string | undefined,
  job: Job,
): unknown {
  const summaries = (list: readonly Operation[]) => list.map(({ id, op, kind, key }) => ({ id, op, kind, key }));
  const left = operations.filter(({ id }) => !done.has(id));
  const progress = { applied: summaries(operations.filter(({ id }) => done.has(id))), remaining: summaries(left) };
  if (job.signal.aborted)
    return new Failure("cancelled", "the change was cancelled after the running step had ended; labwright plan shows the remaining steps", {
      data: progress,
      cause: error,
    });
  if (!(error instanceof Failure)) return error;
  if (error.code === "lab_locked" || error.code === "lab_locked_mid_apply") {
    if (done.size === 0) return labLocked(path, error);
    const text = `${path} was locked on the host while the change ran: part of it is done. Clear the lock (labwright unlock) and apply again`;
    return new Failure("lab_locked_mid_apply", text, { data: { lab: path, ...progress }, cause: error });
  }
  const { failures, failed: named, ...rest } = error.data ?? {};
  // A host that runs steps in batches reports the failed steps.
  const listed: readonly FailedStep[] = failures ?? [{ id: String(named ?? left[0]?.id) }];
  const reasons = new Map(listed.map(({ id, message }) => [id, message]));
  const known = left.filter(({ id }) => reasons.has(id));
  const failed = known.length > 0 ? known : left.slice(0, 1);
  const failedSteps = failed.map((operation) => {
    const message = reasons.get(operation.id);
    return { ...summaries([operation])[0], ...(message !== undefined && { message: inKeyText(message, operation) }) };
  });
  const data = {
    ...rest,
    applied: progress.applied,
    failed: failedSteps,
    remaining: summaries(left.filter((one) => !failed.includes(one))),
  };
  const [first] = failed;
  // Steps that failed together in one write have no individual reasons.
  const isOne = failed.length === 1 || reasons.get(first?.id ?? "") !== undefined;
  const where = first === undefined || running === undefined || !isOne ? "" : `${first.op} ${first.kind} ${first.key}: `;
  const message = first === undefined ? error.message : inKeyText(error.message, first);
  return new Failure(error.code, message.startsWith(where) ? message : where + message, {
    data,
    cause: error,
    ...(error.retryAfter !== undefined && { retryAfter: error.retryAfter }),
  });
}
