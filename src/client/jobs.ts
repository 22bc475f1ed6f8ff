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

/** The intervals of waitForJob, ms: short ones first, for short changes. */
const jobPolls = [50, 100, 200, 300, 500] as const;

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
      let silentSince: number | undefined;
      for (let turn = 0; ; turn++) {
        const state = await getJob({ id: job }, { signal }).catch((error: unknown) => databaseAway(error));
        if (state instanceof LabwrightError) {
          silentSince ??= Date.now();
          if (Date.now() - silentSince > maxAwayMs) throw databaseSilent(job, state);
          await pause((state.retryAfter ?? 1) * 1_000, signal);
          continue;
        }
        silentSince = undefined;
        const now = `${state.status} ${state.step} ${state.steps} ${state.text ?? ""} ${state.waiting ?? ""}`;
        if (now !== before) onProgress?.(state);
        before = now;
        if (state.status === "done") return (await wholeResult(state, getIntent, { signal })) as never;
        if (state.status !== "running") throw jobError(state);
        if (state.unreachable_since !== undefined) throw machineSilent(state);
        if (Date.now() > deadline) {
          throw new LabwrightError(`${id} has not ended within ${timeoutMs / 1000} s; job ${job} continues`, {
            status: 0,
            code: "host_timeout",
            data: { job },
          });
        }
        await pause(jobPolls[Math.min(turn, jobPolls.length - 1)] ?? 500, signal);
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

/** A change waits for the service's database for less time than this, ms. */
const maxAwayMs = 60_000;

/** Returns the error of a service whose database does not answer: the job cannot be read, and goes on. Throws any other error. */
function databaseAway(error: unknown): LabwrightError {
  if (error instanceof LabwrightError && error.code === "store_unavailable") return error;
  throw error;
}

/** The refusal itself names what was not changed: by the question about the job, nothing was. */
function databaseSilent(job: string, cause: LabwrightError): LabwrightError {
  const text = `the service's database does not answer: job ${job} has begun, and continues when the database answers again`;
  return new LabwrightError(text, { status: cause.status, code: "store_unavailable", data: { job }, retryAfter: cause.retryAfter, cause });
}

/** A machine that is lost for good would be waited for without end. */
function machineSilent({ job, machine, unreachable_since: since }: Job): LabwrightError {
  const text = `machine ${machine} has not answered since ${since}: job ${job} continues when it is back`;
  return new LabwrightError(text, { status: 503, code: "machine_unreachable", data: { machine, seen_at: since, job } });
}

/** Returns the error that the change itself would have had, with its HTTP status. */
function jobError(job: Job): LabwrightError {
  const { code, error, data } = job.error ?? { code: undefined, error: `the change was ${job.status}` };
  const known = typeof data === "object" && data !== null ? (data as Readonly<Record<string, unknown>>) : undefined;
  return new LabwrightError(error, { status: statusOf(code), code, data: known });
}

function statusOf(code: string | undefined): number {
  const rows: Readonly<Record<string, ErrorRow>> = errors;
  // The code may be from a newer service, and its status not known here: 200 is the status of the answer that contained the job.
  return code !== undefined && Object.hasOwn(rows, code) ? rows[code]!.status : 200;
}
