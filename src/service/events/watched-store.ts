import type { JobFinish, JobOutcome, JobRow, JobStatus, LabRecord, Store } from "../store/store.ts";

export type RecordChange = "created" | "updated" | "deleted";

/** Progress of a change, reported at its start, when its steps are known, as steps finish, and at its end. */
export interface JobNews {
  readonly job: string;
  readonly lab: string;
  /** Identity of the lab: only users with a right on this lab get the event. */
  readonly identity: string | undefined;
  readonly owner: string | undefined;
  readonly operation: string;
  readonly user: string;
  readonly status: JobStatus;
  readonly step: number;
  readonly steps: number;
  readonly outcome?: JobOutcome;
  /** Without its data, which may hold parts of the intent. */
  readonly error?: { readonly code: string; readonly error: string };
  /** Duration of a change that has ended, ms. */
  readonly duration_ms?: number;
}

export interface JournalListener {
  readonly record: (change: RecordChange, record: LabRecord) => void;
  readonly job: (news: JobNews) => void;
  /** A job of another service on the same database has ended. */
  readonly jobElsewhere: (news: JobNews) => void;
}

/** Minimum interval between step events, ms. */
const tellStepsMs = 100;

type JobSummary = Pick<JobNews, "job" | "lab" | "identity" | "owner" | "operation" | "user">;

interface Running {
  readonly about: JobSummary;
  readonly startedAt: number;
  step: number;
  steps: number;
  toldAt: number;
}

/**
 * Wraps the store and reports changes of lab records and the progress of jobs. Internal data, such as plan identities, is not
 * reported.
 */
export function watchedStore(store: Store, listener: JournalListener): Store {
  const running = new Map<string, Running>();
  const runningOf = async (id: string): Promise<Running | undefined> => {
    // One that a crash cut off.
    const row = await store.jobs.get(id);
    if (row === undefined) return undefined;
    const found = { ...runningFrom(row), step: row.done, steps: row.steps.length };
    running.set(id, found);
    return found;
  };
  const tellRunning = (job: Running) => {
    job.toldAt = performance.now();
    listener.job({ ...job.about, status: "running", step: job.step, steps: job.steps });
  };
  store.shared?.onOthers({
    lab: (before, after) => {
      if (after === undefined) listener.record("deleted", before!);
      else if (before === undefined) listener.record("created", after);
      else if (differs(before, after)) listener.record("updated", after);
    },
    job: (row) => {
      const { status, outcome, error, finishedAt, startedAt, steps, done } = row;
      const end = {
        status,
        ...(finishedAt !== undefined && { finishedAt }),
        ...(outcome !== undefined && { outcome }),
        ...(error !== undefined && { error }),
      };
      listener.jobElsewhere(endNews({ ...runningFrom(row), startedAt, step: done, steps: steps.length }, end));
    },
  });
  return {
    ...store,
    labs: {
      ...store.labs,
      put: async (record, admission) => {
        const before = store.labs.get(record.path);
        await store.labs.put(record, admission);
        if (before === undefined) listener.record("created", record);
        else if (differs(before, record)) listener.record("updated", record);
      },
      delete: async (path) => {
        const before = store.labs.get(path);
        await store.labs.delete(path);
        if (before !== undefined) listener.record("deleted", before);
      },
    },
    jobs: {
      ...store.jobs,
      insert: async (row) => {
        await store.jobs.insert(row);
        const job = runningFrom(row);
        running.set(row.id, job);
        tellRunning(job);
      },
      begin: async (id, steps) => {
        await store.jobs.begin(id, steps);
        const job = running.get(id) ?? (await runningOf(id));
        if (job === undefined) return;
        job.step = 0;
        job.steps = steps.length;
        tellRunning(job);
      },
      progress: async (id, done) => {
        await store.jobs.progress(id, done);
        const job = running.get(id) ?? (await runningOf(id));
        if (job === undefined) return;
        job.step = done;
        if (performance.now() - job.toldAt >= tellStepsMs) tellRunning(job);
      },
      finish: async (id, end) => {
        const job = running.get(id) ?? (await runningOf(id));
        await store.jobs.finish(id, end);
        running.delete(id);
        if (job === undefined) return;
        listener.job(endNews(job, end));
      },
    },
  };
}

function endNews(
  job: Running,
  { status, outcome, error, finishedAt }: Pick<JobFinish, "status" | "outcome" | "error" | "finishedAt">,
): JobNews {
  return {
    ...job.about,
    status,
    step: job.step,
    steps: job.steps,
    ...(outcome !== undefined && { outcome }),
    ...(error !== undefined && { error: { code: error.code, error: publicText(error) } }),
    ...(finishedAt !== undefined && { duration_ms: finishedAt - job.startedAt }),
  };
}

/** All users with access to the lab get the event. The message of an invalid intent quotes its lines, which may contain secrets, and is replaced. */
function publicText({ code, error }: { readonly code: string; readonly error: string }): string {
  return code === "invalid_intent" ? "the host cannot deploy this intent; see the job for details" : error;
}

function runningFrom({ id, lab, identity, owner, operation, user, startedAt }: JobRow): Running {
  return { about: { job: id, lab, identity, owner, operation, user }, startedAt, step: 0, steps: 0, toldAt: 0 };
}

function differs(a: LabRecord, b: LabRecord): boolean {
  return (
    a.serial !== b.serial ||
    a.yaml !== b.yaml ||
    a.mode !== b.mode ||
    a.owner !== b.owner ||
    JSON.stringify(a.grants ?? {}) !== JSON.stringify(b.grants ?? {})
  );
}
