import { type ErrorRow, errors } from "../contract/errors.ts";
import { type ChangeOperationId, operations } from "../contract/operations.ts";
import { LabwrightError } from "./error.ts";
import type { CallOptions, InputOf, ResultOf } from "./methods.ts";
import { pause } from "./pause.ts";

export type Job = ResultOf<"getJob">;

/** A change that runs as a job. `result` contains the answer of the operation. */
export interface StartedJob {
  readonly job: string;
}

export interface JobOptions extends CallOptions {
  /** Called with each state that differs from the previous one. In the last state, the job has ended. */
  readonly onProgress?: ((job: Job) => void) | undefined;
}

export interface JobMethods {
  /** Begins a change and returns at once (Prefer: respond-async). */
  startJob<Id extends ChangeOperationId>(id: Id, input: InputOf<Id>, options?: CallOptions): Promise<StartedJob>;
  /** Waits for the end of a job and returns its result. Throws a LabwrightError if the job fails or is cancelled, or its machine does not answer. timeoutMs: the whole wait. */
  waitForJob<Id extends ChangeOperationId>(id: Id, job: string, options?: JobOptions): Promise<ResultOf<Id>>;
}

/** Reads of a job in a row without an answer of the service's database: more than a minute. A change itself waits for less. */
const maxAway = 150;
/** The intervals of waitForJob, ms: short ones first, for short changes. */
const jobPolls: readonly number[] = [50, 100, 200, 300];

type IntentReader = (
  input: { readonly lab: string; readonly as_written: true },
  options: CallOptions,
) => Promise<{ readonly yaml?: string; readonly files?: Readonly<Record<string, string>> }>;

/** `begin` sends a change with additional headers. `getJob` reads a job. `getIntent` reads the intent, which jobs leave out. */
export function jobMethods(
  begin: (
    id: ChangeOperationId,
    input: object,
    options: CallOptions | undefined,
    headers: Readonly<Record<string, string>>,
  ) => Promise<unknown>,
  getJob: (input: { readonly id: string }, options: CallOptions) => Promise<Job>,
  getIntent: IntentReader,
): JobMethods {
  return {
    startJob: async (id, input, options) => (await begin(id, input, options, { Prefer: "respond-async" })) as StartedJob,
    waitForJob: async (id, job, { signal, timeoutMs = operations[id].timeoutMs, onProgress } = {}) => {
      const deadline = timeoutMs > 0 ? Date.now() + timeoutMs : Number.POSITIVE_INFINITY;
      let before = "";
      let away = 0;
      for (let turn = 0; ; turn++) {
        const state = await getJob({ id: job }, { signal }).catch(orIfAway);
        if (state !== undefined) {
          away = 0;
          const now = JSON.stringify(state);
          if (now !== before) onProgress?.(state);
          before = now;
          if (state.status === "done") return (await wholeResult(state, getIntent, { signal })) as never;
          if (state.status !== "running") throw jobError(state);
          if (state.unreachable_since !== undefined) throw machineSilent(state);
        }
        if (Date.now() > deadline || away++ > maxAway) {
          throw new LabwrightError(`${id} has not ended within ${timeoutMs / 1000} s; job ${job} continues`, {
            status: 0,
            code: "host_timeout",
            data: { job },
          });
        }
        await pause(jobPolls[turn] ?? 500, signal);
      }
    },
  };
}

/** Returns the complete answer of the change. Jobs contain no intent, which is read from the lab. */
async function wholeResult({ result, left_out: leftOut = [] }: Job, getIntent: IntentReader, options: CallOptions): Promise<unknown> {
  const { lab } = (result ?? {}) as { readonly lab?: unknown };
  if (!leftOut.includes("yaml") || typeof lab !== "string") return result;
  const { yaml, files } = await getIntent({ lab, as_written: true }, options);
  return { ...(result as object), yaml, files };
}

/** Returns `undefined` while the service's database does not answer: the job cannot be read, and goes on. Throws any other error. */
function orIfAway(error: LabwrightError): undefined {
  if (error.code !== "store_unavailable") throw error;
}

/** A machine that is lost for good would be waited for without end. */
function machineSilent({ job, machine, unreachable_since: since }: Job): LabwrightError {
  const text = `machine ${machine} has not answered since ${since}: job ${job} continues when it is back`;
  return new LabwrightError(text, { status: 503, code: "machine_unreachable", data: { machine, seen_at: since, job } });
}

/** Returns the error that the change itself would have had, with its HTTP status. */
function jobError(job: Job): LabwrightError {
  const { code, error, data } = job.error ?? { code: undefined, error: `the change was ${job.status}` };
  return new LabwrightError(error, { status: statusOf(code), code, data: (data ?? undefined) as LabwrightError["data"] });
}

function statusOf(code: string | undefined): number {
  const rows: Readonly<Record<string, ErrorRow>> = errors;
  // The code may be from a newer service, and its status not known here: 200 is the status of the answer that contained the job.
  return code !== undefined && Object.hasOwn(rows, code) ? rows[code]!.status : 200;
}
