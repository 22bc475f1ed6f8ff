import { Failure } from "../contract/errors.ts";
import type { HostSession } from "../hosts/host.ts";
import { changeKinds } from "./change-kinds.ts";
import { type ChangeKind, type ChangeRun, isAsUser, readRequest } from "./changes/change-kind.ts";
import { guarded } from "./changes/managed.ts";
import { recordUnstarted } from "./changes/owed-starts.ts";
import { addressRecorded } from "./context/address.ts";
import type { ChangeParts, SessionsPart, StorePart } from "./context/parts.ts";
import type { Job } from "./jobs/jobs.ts";
import type { JobRow } from "./store/store.ts";

/** A stored change that this release can finish. */
interface Recoverable {
  readonly kind: ChangeKind;
  readonly request: unknown;
}

/**
 * Finishes the changes that a crash interrupted:
 *
 * - A change that had not started its first step is rolled back: nothing was changed.
 * - Any other change runs again through its ChangeKind, with the stored request and the rights of its user: it is planned from the present state of
 *   the host.
 * - If the host needs a password, a newer change has ended, or the rest fails, the change ends as interrupted. A plan then shows the remaining work.
 *
 * The labs of these changes are busy when this function returns, also before its first await. The promise settles when all of them have ended.
 */
export async function recoverJobs(context: ChangeParts, unfinished: readonly JobRow[]): Promise<void> {
  // Normally one unfinished job per lab; more only if the end of an earlier job was not persisted. They run in order.
  const byLab = new Map<string, JobRow[]>();
  for (const row of unfinished) byLab.set(row.lab, [...(byLab.get(row.lab) ?? []), row]);
  await Promise.all([...byLab.values()].map((rows) => recoverLab(context, rows)));
}

async function recoverLab(context: ChangeParts, rows: readonly JobRow[]): Promise<void> {
  for (const row of rows) {
    if (row.unreadable !== true && row.steps.length === 0 && changeKinds.get(row.operation)?.isStepless !== true) {
      const failure = new Failure("cancelled", "cut off by a restart before its first step: nothing was changed");
      await context.jobs.abandon(row, "rolled_back", failure);
      continue;
    }
    const foreign = ownerProblem(context, row) ?? newerProblem(context, row);
    const found = recoverable(row);
    const problem = "problem" in found ? found.problem : foreign;
    if ("problem" in found || problem !== undefined) {
      if (foreign === undefined) await recordUnstarted(context, row);
      const text = `cut off by a restart, and not finished: ${problem}. Plan the lab to see what is left to do`;
      await context.jobs.abandon(row, "interrupted", new Failure("cancelled", text));
      continue;
    }
    try {
      await context.jobs.resume(row, async (job) => {
        await recordUnstarted(context, row);
        return finish(context, job, row, found);
      });
    } catch (error) {
      // The job has recorded its failure in the journal, and the service starts. Only lab_busy is thrown before the job runs: a newer change of the
      // lab is running.
      if (error instanceof Failure && error.code === "lab_busy") await context.jobs.abandon(row, "interrupted", error);
    }
  }
}

/** Returns the kind and the validated request of a stored change, or the reason why this release cannot finish it. */
function recoverable({ operation, request, unreadable }: JobRow): Recoverable | { readonly problem: string } {
  if (unreadable === true) return { problem: "its row in the journal cannot be read" };
  const kind = changeKinds.get(operation);
  if (kind === undefined) return { problem: `this version does not know the operation ${operation}` };
  const read = readRequest(kind, request);
  return "problem" in read ? read : { kind, request: read.request };
}

/** Returns a reason if another lab has replaced the change's lab at its path. */
function ownerProblem({ store }: StorePart, { lab, identity }: JobRow): string | undefined {
  const record = store.labs.get(lab);
  if (record === undefined || identity === undefined || record.identity === identity) return undefined;
  return `${lab} is another lab now`;
}

/**
 * Returns a reason if a newer change of the lab has ended meanwhile: while the lease of the service could not be renewed, the change was stopped, and a user has changed
 * the lab before it went on. Its text would replace the newer one.
 */
function newerProblem({ store }: StorePart, { id, lab, startedAt }: JobRow): string | undefined {
  const end = store.jobs.lastEnd(lab, store.labs.get(lab));
  if (end === undefined || end.id === id || end.failedEarly || end.finishedAt <= startedAt) return undefined;
  return `a newer change of ${lab} has ended`;
}

async function finish(context: ChangeParts, job: Job, row: JobRow, { kind, request }: Recoverable): Promise<unknown> {
  const host = await sessionFor(context, row).catch((error: unknown) => {
    throw withFacts(error, kind.keptFacts?.(request));
  });
  try {
    const started: ChangeRun = {
      context,
      job,
      target: await addressRecorded(context, row.lab, row.user, host, `job ${row.id}`),
      interrupted: row,
    };
    return await guarded(context, started.target, job, async () => {
      const recovered = (await kind.recover?.(started, request, row)) ?? { target: started.target, request };
      return kind.run({ ...started, target: recovered.target }, recovered.request);
    });
  } finally {
    await host.close().catch((error: unknown) => context.log("warn", "a host session did not close", { error: String(error) }));
  }
}

function withFacts(error: unknown, facts: Readonly<Record<string, string>> | undefined): unknown {
  if (!(error instanceof Failure) || facts === undefined) return error;
  return new Failure(error.code, error.message, { data: { ...error.data, ...facts }, cause: error });
}

async function sessionFor(context: StorePart & SessionsPart, row: JobRow): Promise<HostSession> {
  try {
    return await context.sessions.resumeFor(row.user, context.store.labs.get(row.lab)?.owner, isAsUser(row) ? "user" : undefined);
  } catch (error) {
    throw new Failure("expired_host_session", `cut off by a restart: ${(error as Error).message}`, { cause: error });
  }
}
