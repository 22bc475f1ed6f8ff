import { type InputOf, type Job, LabwrightError, type ResultOf, type StartedJob } from "../../client/index.ts";
import type { Context } from "../command/context.ts";
import { withHint } from "../command/with-hint.ts";
import { Progress } from "../show/progress.ts";

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
}

/**
 * Runs a change as a job and waits for its end, showing each step, and what was done otherwise than one would expect. The first Ctrl-C stops it after
 * the step in flight, so that what is done is known; the second leaves it alone.
 */
export async function runChange<Id extends ChangeId>(
  context: Context,
  id: Id,
  input: InputOf<Id>,
  options: ChangeOptions,
): Promise<ResultOf<Id>> {
  const result = await followedChange(context, id, input, options);
  for (const line of warningsOf(result)) context.terminal.complain(`${context.terminal.paint("yellow", "warning:")} ${line}`);
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
  const giveUp = new AbortController();
  let asked = false;
  let job: string | undefined;
  const cancel = (id: string) => client.cancelJob({ id }).catch((error: unknown) => giveUp.abort(error));
  const onInterrupt = () => {
    if (asked) {
      const name = job === undefined ? "" : ` as job ${job}`;
      giveUp.abort(new Error(`${options.what} goes on${name}; labwright status shows it`));
      return;
    }
    asked = true;
    progress.say(`${options.what}: stopping after the step in flight; Ctrl-C again leaves it alone`);
    if (job !== undefined) void cancel(job);
  };
  process.on("SIGINT", onInterrupt);
  try {
    const started = await client.startJob(id, input, { signal: giveUp.signal });
    // A service without jobs has done it already and answers with the result itself.
    if (!isJob(started)) return started as unknown as ResultOf<Id>;
    job = started.job;
    // Whoever pressed Ctrl-C before the change had a name means this change, too.
    if (asked) void cancel(job);
    const waiting = client.waitForJob(id, started.job, {
      signal: giveUp.signal,
      timeoutMs: options.timeoutMs,
      onProgress: (job) => {
        if (!asked) progress.say(`${options.what}${stepText(job)}`);
      },
    });
    return await waiting.catch((error: unknown) => {
      // With a status it is the service's word about its host.
      if (!(error instanceof LabwrightError) || error.status !== 0) throw error;
      return withHint(
        "host_unreachable",
        `job ${job} has begun; labwright jobs shows its end. A service that starts again goes on with it where its host needs no password; ` +
          "else sign in and run the command again",
      )(error);
    });
  } finally {
    process.off("SIGINT", onInterrupt);
  }
}

/** Of a change's answer, or of its error's data. */
export function warningsOf(data: object | undefined): readonly string[] {
  const { warnings } = (data ?? {}) as { readonly warnings?: unknown };
  if (!Array.isArray(warnings)) return [];
  return (warnings as readonly { readonly message?: unknown }[]).map(({ message }) => String(message));
}

function stepText(job: Job): string {
  if (job.steps === 0) return "";
  return `: step ${job.step} of ${job.steps}${job.text === undefined ? "" : `, ${job.text}`}`;
}

function isJob(data: StartedJob): boolean {
  return typeof data === "object" && data !== null && typeof data.job === "string" && Object.keys(data).length === 1;
}
