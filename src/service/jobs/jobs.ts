import { Failure } from "../../contract/errors.ts";
import type { JobData, JobsData } from "../../contract/schemas/jobs.ts";
import type { ChangeWarning, RunningOperation } from "../../contract/schemas/project.ts";
import type { Operation } from "../../engine/model/plan.ts";
import type { Caller } from "../common/call.ts";
import { type Clock, timeText } from "../common/clock.ts";
import { Elsewhere } from "../common/elsewhere.ts";
import type { Log } from "../common/log.ts";
import { newId } from "../common/new-id.ts";
import { reaches } from "../sessions/rights.ts";
import { type MachineRow, silentAfterMs } from "../store/machines.ts";
import type { JobAnswer, JobOutcome, JobRow, JobStep, Store } from "../store/store.ts";
import { ChangeWatch, type JobLimits } from "./change-watch.ts";
import { errorOf, failureOf, jobError, jobResult } from "./job-answer.ts";
import { jobData } from "./job-data.ts";
import { JobEnds } from "./job-ends.ts";
import { ProgressWriter } from "./progress-writer.ts";

export interface Change<Result> {
  /** Operation id: deployProject … */
  readonly operation: string;
  readonly lab: string;
  readonly user: string;
  /** Data that recovery needs to finish the change. */
  readonly request: unknown;
  readonly work: (job: Job) => Promise<Result>;
}

/** A running change: the interface by which its work reports to the journal. */
export interface Job {
  readonly id: string;
  /** Identity of the lab's record, or of the record that the change will create. */
  readonly identity: string;
  /** Operation id of the change. */
  readonly operation: string;
  /** Aborted by cancelJob and by the service's shutdown. */
  readonly signal: AbortSignal;
  /** The steps that are about to run. */
  begin(operations: readonly Operation[]): Promise<void>;
  done(count: number): void;
  /** The step that waits and its reason, for people; undefined: none waits. */
  waits(text: string | undefined): void;
  /** Like `waits`, for work before the first step that goes on: a change that reports progress is not cancelled as stalled. */
  progresses(text: string): void;
  /** Unexpected effects on the host so far. */
  readonly warnings: readonly ChangeWarning[];
  warn(warning: ChangeWarning): void;
}

interface Running {
  readonly id: string;
  readonly identity: string;
  result: Promise<unknown> | undefined;
  readonly change: Pick<Change<unknown>, "operation" | "lab" | "user">;
  readonly startedAt: number;
  readonly abort: AbortController;
  step: number;
  steps: number;
  cancelled: boolean;
  /** The service may not change the lab any more: the journal keeps the change as unfinished, and it is continued later. */
  suspended: boolean;
  waiting?: string | undefined;
}

/** Maximum length of a list. Older changes are found by their id. */
const maxListed = 100;
/** Maximum number of rows read for a list, before jobs of other users are filtered out. */
const maxRead = 2_000;

/** Operation id of the end of a lease: a change of the service itself, whose user is not an account. */
export const endLeaseOperation = "endLease";

/** How often a lab is looked at that is held without a change to wait for, ms. */
const lookMs = 50;
const keepEndedMs = 30 * 24 * 3_600_000;

/** One change at a time per lab, each of them in the journal from before its first step until its end. */
export class Jobs {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #byLab = new Map<string, Running>();
  readonly #limits: JobLimits;
  readonly #ends: JobEnds;
  #closing = false;

  constructor(store: Store, clock: Clock, log: Log, limits: JobLimits) {
    this.#limits = limits;
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#ends = new JobEnds(store, log);
  }

  /** How many run now. */
  get count(): number {
    return this.#byLab.size;
  }

  /** Returns the running change of this lab, as shown by lab_busy and status. */
  running(lab: string): RunningOperation | undefined {
    const running = this.#byLab.get(lab);
    if (running === undefined) return undefined;
    const { change, startedAt, step, steps } = running;
    return { name: change.operation, user: change.user, started_at: timeText(startedAt), step, steps };
  }

  /** Starts a change. Throws lab_busy. The caller must handle a rejection of `result`. */
  async start<Result>(change: Change<Result>): Promise<{ readonly id: string; readonly result: Promise<Result> }> {
    this.refuseBusy(change.lab);
    const id = newId();
    const startedAt = this.#clock.now();
    const { operation, lab, user, request } = change;
    const record = this.#store.labs.get(lab);
    const identity = record?.identity ?? newId();
    const owner = record?.owner ?? user;
    const running = this.#take({ id, identity, startedAt }, change);
    try {
      await this.#store.jobs.purge(startedAt - keepEndedMs);
      await this.#store.jobs.insert({
        id,
        lab,
        identity,
        owner,
        operation,
        user,
        request,
        status: "running",
        startedAt,
        steps: [],
        done: 0,
      });
    } catch (error) {
      this.#byLab.delete(lab);
      // The database may have the row although it did not answer.
      if (error instanceof Failure && error.code === "store_unavailable") this.#endUnstarted(id);
      throw error;
    }
    return { id, result: this.#run(running, change, "finished") };
  }

  /** Continues a change that a crash interrupted. */
  resume<Result>(row: JobRow, work: Change<Result>["work"]): Promise<Result> {
    this.refuseBusy(row.lab);
    const { operation, lab, user, request, id, startedAt } = row;
    const identity = row.identity ?? this.#store.labs.get(lab)?.identity ?? newId();
    const change = { operation, lab, user, request, work };
    return this.#run(this.#take({ id, identity, startedAt }, change), change, "finished_after_restart");
  }

  /** Ends a change that a crash interrupted and that is not continued. */
  async abandon(row: JobRow, outcome: "rolled_back" | "interrupted", error: Failure): Promise<void> {
    await this.#ends.finish(row.id, { status: "failed", outcome, finishedAt: this.#clock.now(), error: jobError(errorOf(error)) });
    this.#log("warn", "change cut off by a restart", {
      job: row.id,
      lab: row.lab,
      operation: row.operation,
      outcome,
      error: String(error),
    });
  }

  /**
   * Returns the answer of a change, when it has ended. Throws its failure, and job_not_found.
   * @param answer the answer stored with its Idempotency-Key; absent for a change of an older version
   */
  async outcome(id: string, answer: JobAnswer | undefined): Promise<unknown> {
    for (const running of this.#byLab.values()) if (running.id === id) return running.result;
    const known = this.#ends.unwritten(id)?.answer ?? answer;
    if (known !== undefined) {
      if ("error" in known) throw failureOf(known.error);
      return known.result;
    }
    const row = await this.#row(id);
    if (row === undefined) throw new Failure("job_not_found", `there is no job ${id}`);
    if (row.error !== undefined) throw failureOf(row.error);
    return row.result;
  }

  /** Throws job_not_found for a job of another user. */
  async get(id: string, caller: Caller): Promise<JobData> {
    const row = await this.#find(id, caller);
    const owner = this.#isHere(row) ? undefined : await this.#store.shared?.machines.ownerOf(row.lab, false);
    return { ...this.#shown(row), ...(owner !== undefined && machineOf(owner)) };
  }

  /** Returns the newest changes that this caller may see, newest first. */
  async list(caller: Caller): Promise<JobsData> {
    const seen = (await this.#store.jobs.newest(maxRead)).filter((row) => this.#sees(row, caller));
    const machines = this.#store.shared?.machines;
    const owners = new Map(machines?.list().map((machine) => [machine.number, machine]));
    return {
      jobs: seen.slice(0, maxListed).map((row) => {
        const owner = this.#isHere(row) ? undefined : owners.get(machines?.elsewhere(row.lab) ?? 0);
        return { ...this.#shown(row), ...(owner !== undefined && machineOf(owner)) };
      }),
    };
  }

  /** Stops a change after the step in flight. Throws job_not_found, and operation_not_allowed when it has ended. */
  async cancel(id: string, caller: Caller): Promise<JobData> {
    const row = await this.#find(id, caller);
    if (caller.role === "viewer") throw new Failure("operation_not_allowed", "a viewer may not cancel changes");
    const running = this.#byLab.get(row.lab);
    const machines = running === undefined && row.status === "running" ? this.#store.shared?.machines : undefined;
    const owner = await machines?.ownerOf(row.lab, false);
    if (owner !== undefined) throw new Elsewhere(owner.number, row.lab);
    if (running === undefined || running.id !== id)
      throw new Failure("operation_not_allowed", "the change cannot be cancelled: it has ended");
    running.cancelled = true;
    running.abort.abort();
    return this.#shown(row);
  }

  /** Refuses new changes and waits up to `ms` for running changes. Changes that still run then are finished after the restart. */
  async close(ms: number): Promise<void> {
    this.#closing = true;
    this.#ends.close();
    const ending = [...this.#byLab.values()].map(({ result }) => result);
    if (ending.length === 0) return this.#ends.write();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((settle) => {
      timer = setTimeout(settle, ms);
    });
    await Promise.race([Promise.allSettled(ending), late]);
    clearTimeout(timer);
    await this.#ends.write();
  }

  /** Throws lab_busy if a change of this lab runs. */
  refuseBusy(lab: string): void {
    if (this.#closing) throw new Failure("lab_busy", "the service is shutting down", { retryAfter: 5 });
    const operation = this.running(lab);
    if (operation === undefined) return;
    throw new Failure("lab_busy", `${lab} is busy: a change by ${operation.user} runs`, { data: { operation }, retryAfter: 2 });
  }

  /** Makes a lab busy that has no change here yet, until the returned function is called. Throws lab_busy. */
  hold(lab: string, operation: string, user: string): () => void {
    this.refuseBusy(lab);
    const running = this.#take({ id: "", identity: "", startedAt: this.#clock.now() }, { operation, lab, user });
    return () => {
      if (this.#byLab.get(lab) === running) this.#byLab.delete(lab);
    };
  }

  /** Resolves when no change of a lab runs here. */
  async untilIdle(lab: string): Promise<void> {
    for (let running = this.#byLab.get(lab); running !== undefined; running = this.#byLab.get(lab)) {
      const { result } = running;
      // A change that is just being written into the journal, or a lab that is held, has no result to wait for.
      if (result === undefined) await new Promise((resolve) => setTimeout(resolve, lookMs));
      else await Promise.resolve(result).catch(() => undefined);
    }
  }

  /** Starts a change as soon as no other change of its lab runs: for changes that nobody would ask for again. */
  async startWhenIdle<Result>(change: Change<Result>): ReturnType<Jobs["start"]> {
    for (;;) {
      await this.untilIdle(change.lab);
      try {
        return (await this.start(change)) as Awaited<ReturnType<Jobs["start"]>>;
      } catch (error) {
        if (!(error instanceof Failure) || error.code !== "lab_busy") throw error;
      }
    }
  }

  /** Stops all changes after their step in flight, and waits for their ends. The journal keeps them as unfinished. */
  suspend(): void {
    for (const running of this.#byLab.values()) {
      running.suspended = true;
      running.abort.abort(suspended(running.id));
    }
  }

  /** After `suspend`: resolves when no change runs any more that was suspended, and the ends that were not written are written. */
  async suspensionEnded(): Promise<void> {
    await Promise.allSettled([...this.#byLab.values()].filter((one) => one.suspended).map(({ result }) => result));
    await this.#ends.write();
  }

  #endUnstarted(id: string): void {
    const error = { code: "store_unavailable", error: "the database did not answer at the start: nothing was changed" };
    this.#ends.later(id, { status: "failed", outcome: "rolled_back", finishedAt: this.#clock.now(), error });
  }

  /** Makes the lab busy. */
  #take(job: Pick<Running, "id" | "identity" | "startedAt">, change: Running["change"]): Running {
    const running: Running = {
      ...job,
      change,
      abort: new AbortController(),
      result: undefined,
      step: 0,
      steps: 0,
      cancelled: false,
      suspended: false,
    };
    this.#byLab.set(change.lab, running);
    return running;
  }

  #run<Result>(running: Running, change: Change<Result>, finished: JobOutcome): Promise<Result> {
    const result = this.#work(running, change, finished);
    running.result = result;
    return result;
  }

  async #work<Result>(running: Running, change: Change<Result>, finished: JobOutcome): Promise<Result> {
    const { id, identity, startedAt, abort } = running;
    const watch = new ChangeWatch(abort, this.#limits);
    const about = { job: id, lab: change.lab, operation: change.operation, user: change.user };
    this.#log("info", "change begins", about);
    const warnings: ChangeWarning[] = [];
    const progress = new ProgressWriter(
      async (count) => {
        if (!watch.over) await this.#store.jobs.progress(id, count);
      },
      (error) =>
        abort.abort(error instanceof Failure ? error : new Failure("internal", "the journal could not be written", { cause: error })),
    );
    try {
      const work = change.work({
        id,
        identity,
        operation: change.operation,
        signal: abort.signal,
        warnings,
        warn: (warning) => {
          warnings.push(warning);
          this.#log("warn", "change had an unexpected effect", { ...about, code: warning.code, node: warning.node, text: warning.message });
        },
        begin: async (operations) => {
          if (watch.over) return;
          watch.progress();
          running.step = 0;
          running.steps = operations.length;
          await progress.written();
          await this.#store.jobs.begin(id, operations.map(stepOf));
        },
        done: (count) => {
          if (watch.over) return;
          watch.progress();
          running.step = count;
          progress.write(count);
        },
        waits: (text) => {
          running.waiting = text;
        },
        progresses: (text) => {
          if (running.waiting !== text) watch.progress();
          running.waiting = text;
        },
      });
      const result = await watch.limit(work);
      await progress.written();
      await this.#ends.finish(id, {
        status: "done",
        outcome: finished,
        finishedAt: this.#clock.now(),
        result: jobResult(result),
        answer: { result },
      });
      this.#log("info", "change ended", { ...about, outcome: finished, ms: this.#clock.now() - startedAt });
      return result;
    } catch (error) {
      if (running.suspended && !running.cancelled) {
        this.#log("warn", "change interrupted: the database did not answer in time", about);
        throw suspended(id, error);
      }
      const answered = errorOf(error);
      const outcome = running.cancelled ? "cancelled" : finished === "finished" ? "failed" : "interrupted";
      await progress.written();
      await this.#ends.finish(id, {
        status: running.cancelled ? "cancelled" : "failed",
        outcome,
        finishedAt: this.#clock.now(),
        error: jobError(answered),
        answer: { error: answered },
      });
      const { code } = answered;
      // The message of an invalid intent quotes its lines, which may contain secrets.
      this.#log("warn", "change failed", { ...about, outcome, code, ...(code !== "invalid_intent" && { error: String(error) }) });
      throw error;
    } finally {
      watch.end();
      this.#byLab.delete(change.lab);
    }
  }

  async #row(id: string): Promise<JobRow | undefined> {
    const row = await this.#store.jobs.get(id);
    const end = this.#ends.unwritten(id);
    return row === undefined || end === undefined ? row : { ...row, ...end };
  }

  async #find(id: string, caller: Caller): Promise<JobRow> {
    const row = await this.#row(id);
    if (row === undefined || !this.#sees(row, caller)) throw new Failure("job_not_found", `there is no job ${id}`);
    return row;
  }

  /** A change is visible to its user, to the owner of the lab at that time, and to admins. A later owner of the path does not see it. */
  #sees({ lab, user, owner, operation }: JobRow, caller: Caller): boolean {
    if (!reaches(caller, lab)) return false;
    return (user === caller.user && operation !== endLeaseOperation) || caller.role === "admin" || owner === caller.user;
  }

  /** Whether the change has ended, or runs on this machine. */
  #isHere({ id, lab, status }: JobRow): boolean {
    return status !== "running" || this.#byLab.get(lab)?.id === id;
  }

  #shown(row: JobRow): JobData {
    const running = this.#byLab.get(row.lab);
    return jobData(row, running?.id === row.id ? running.waiting : undefined);
  }
}

function machineOf({ name, silentMs, seenAt }: MachineRow): Pick<JobData, "machine" | "unreachable_since"> {
  return { machine: name, ...(silentMs > silentAfterMs && { unreachable_since: timeText(seenAt) }) };
}

/** The failure of a change that continues when the database answers again. */
function suspended(job: string, cause?: unknown): Failure {
  const text = `the change was interrupted because the service's database does not answer; it continues when the database answers again: labwright jobs ${job}`;
  return new Failure("store_unavailable", text, { retryAfter: 10, data: { job }, ...(cause !== undefined && { cause }) });
}

function stepOf({ id, op, kind, key, step }: Operation): JobStep {
  return { id, op, kind, key, do: step.do };
}
