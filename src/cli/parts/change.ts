import { type InputOf, type Job, LabwrightError, type ResultOf, type StartedJob } from "../../client/index.ts";
import type { Context } from "../command/context.ts";
import { withHint } from "../command/with-hint.ts";
import { Progress } from "../show/progress.ts";
import { warningsOf } from "../show/show-job.ts";

type ChangeId =
  | "importProject"
  | "deployProject"
  | "reconcileProject"
  | "destroyProject"
  | "execProject"
  | "resumeLab"
  | "renumberLab"
  | "takeSnapshot"
  | "restoreSnapshot"
  | "removeSnapshot";

interface ChangeOptions {
  readonly what: string;
  readonly timeoutMs?: number | undefined;
  /** A plan with the warnings about startup-configs was shown before. */
  readonly isPlanned?: boolean;
}

/**
 * Runs a change as a job, shows its steps and warnings, and waits for its end. The first Ctrl-C cancels the job after its current step, so that the result
 * is known. The second Ctrl-C ends the command and lets the job continue.
 */
export async function runChange<Id extends ChangeId>(
  context: Context,
  id: Id,
  input: InputOf<Id>,
  options: ChangeOptions,
): Promise<ResultOf<Id>> {
  const result = await followedChange(context, id, input, options);
  const isShown = (code: unknown) => options.isPlanned === true && (code === "config_line" || code === "config_unchecked");
  for (const line of warningsOf(result, isShown)) context.terminal.complain(`${context.terminal.paint("yellow", "warning:")} ${line}`);
  return result;
}

async function followedChange<Id extends ChangeId>(
  context: Context,
  id: Id,
  input: InputOf<Id>,
  options: ChangeOptions,
): Promise<ResultOf<Id>> {
  const client = await context.client();
  using progress = new Progress(context.terminal, options.what, { quiet: context.quiet });
  const notes = new WaitNotes(context.terminal.note);
  const giveUp = new AbortController();
  let asked = false;
  let job: string | undefined;
  const cancel = (id: string) => client.cancelJob({ id }).catch((error: unknown) => giveUp.abort(error));
  const onInterrupt = () => {
    if (asked) {
      const name = job === undefined ? "" : ` as job ${job}`;
      giveUp.abort(new Error(`${options.what} continues${name}; labwright status shows it`));
      return;
    }
    asked = true;
    progress.update(`${options.what}: stopping after the current step; Ctrl-C again lets it continue without this command`);
    if (job !== undefined) void cancel(job);
  };
  process.on("SIGINT", onInterrupt);
  try {
    const started = await client.startJob(id, input, { signal: giveUp.signal });
    // A service without jobs answers with the result of the completed change.
    if (!isJob(started)) return started as unknown as ResultOf<Id>;
    job = started.job;
    // Ctrl-C was pressed before the job had an id: it cancels this job.
    if (asked) void cancel(job);
    const waiting = client.waitForJob(id, started.job, {
      signal: giveUp.signal,
      timeoutMs: options.timeoutMs,
      onProgress: (job) => {
        if (!asked) progress.update(`${options.what}${stepText(job)}`);
        if (!progress.visible) notes.show(job.waiting);
      },
    });
    return await waiting.catch((error: unknown) => {
      // An error with a status is the service's own error about its host.
      if (!(error instanceof LabwrightError) || error.status !== 0) throw error;
      return withHint(
        "host_unreachable",
        `job ${job} has begun; labwright jobs shows its end. A restarted service continues the job if its host needs no password; ` +
          `otherwise sign in, then ${nextAfter(id, input as { readonly replace?: unknown })}`,
      )(error);
    });
  } finally {
    process.off("SIGINT", onInterrupt);
  }
}

/**
 * Returns what finishes a change that broke off. A lab that a deploy or import has made in part is not deployed a second time; a deploy that replaces a
 * lab is repeated, because the old lab may still be there.
 */
function nextAfter(id: string, { replace }: { readonly replace?: unknown }): string {
  if (id === "deployProject" && replace === true) return "repeat the command with --replace";
  if (id === "deployProject" || id === "reconcileProject") return "labwright apply does the rest";
  if (id === "destroyProject") return "labwright destroy deletes the rest";
  return "run the command again; if the lab exists, labwright plan shows what is left to do";
}

/** Time between two notes about a start that waits, ms. */
const noteMs = 10_000;

/** Without a terminal, the notes about a start that waits: at once, then at most one in ten seconds, and only new ones. */
class WaitNotes {
  readonly #note: (text: string) => void;
  #last: string | undefined;
  #at = Number.NEGATIVE_INFINITY;

  constructor(note: (text: string) => void) {
    this.#note = note;
  }

  show(waiting: string | undefined): void {
    const now = performance.now();
    if (waiting === undefined || waiting === this.#last || now - this.#at < noteMs) return;
    [this.#last, this.#at] = [waiting, now];
    this.#note(waiting);
  }
}

function stepText(job: Job): string {
  if (job.waiting !== undefined) return `: ${job.waiting}`;
  if (job.steps === 0) return "";
  return `: step ${job.step} of ${job.steps}${job.text === undefined ? "" : `, ${job.text}`}`;
}

function isJob(data: StartedJob): boolean {
  return typeof data === "object" && data !== null && typeof data.job === "string" && Object.keys(data).length === 1;
}
