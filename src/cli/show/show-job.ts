import type { Job, ResultOf } from "../../client/index.ts";

const names: Readonly<Record<string, string>> = {
  deployProject: "deploy",
  reconcileProject: "apply",
  importProject: "import",
  destroyProject: "destroy",
  execProject: "start, stop or wipe",
  applyLinkQuality: "link quality",
  setLinkSuspend: "link suspend or resume",
  editProject: "edit",
  resumeLab: "resume",
  endLease: "end of the lease",
  renumberLab: "renumber",
  takeSnapshot: "snapshot take",
  restoreSnapshot: "snapshot restore",
  removeSnapshot: "snapshot remove",
  saveConfigs: "save",
  testProject: "test",
  moveLab: "move",
};

/** Returns the name of a change for people, as the commands have it. The id of the operation is in --format json. */
export function changeName(operation: string): string {
  return names[operation] ?? operation;
}

/** Returns the progress of a running change. Changes of power and links have no steps. */
export function changeProgress(steps: number, step: number): string {
  return steps === 0 ? "runs" : `is at step ${step} of ${steps}`;
}

export function statusOf({ status, outcome, error, unreachable_since: since }: Job): string {
  if (since !== undefined) return `${status}, machine does not answer`;
  const word = outcome === undefined || outcome === "finished" || outcome === status ? status : `${status}, ${outcome}`;
  return error === undefined ? word : `${word} (${error.code})`;
}

/** A host may do many steps in one call: if the service ended during the call, only the host knows which of them are done. */
function isCountUncertain({ outcome, step, steps }: Job): boolean {
  return outcome === "interrupted" && step < steps;
}

function machineText({ machine, unreachable_since: since }: Job): string {
  return since === undefined ? String(machine) : `${machine}, which has not answered since ${since}`;
}

export function shortSteps(job: Job): string {
  return `${isCountUncertain(job) ? "≥ " : ""}${job.step}/${job.steps}`;
}

function stepsText(job: Job): string {
  if (isCountUncertain(job))
    return `at least ${job.step} of ${job.steps} are done; labwright plan compares the lab on the host with the file`;
  return `${job.step} of ${job.steps}${job.text === undefined ? "" : `, ${job.text}`}`;
}

export function showJob(job: Job): string {
  const lines = [
    ["job", job.job],
    ["lab", job.lab],
    ["change", `${changeName(job.operation)} by ${job.user}`],
    ["status", statusOf(job)],
    ["steps", stepsText(job)],
    ...(job.machine === undefined ? [] : [["machine", machineText(job)]]),
    ["started", job.started_at],
    ...(job.finished_at === undefined ? [] : [["ended", job.finished_at]]),
    ...(job.error === undefined ? [] : [["error", job.error.error]]),
    ...warningsOf(asObject(job.result) ?? asObject(job.error?.data)).map((text) => ["warning", text]),
  ];
  return lines.map(([name = "", value = ""]) => `${name.padEnd(8)} ${value}`).join("\n");
}

/** Returns the warnings in a change's answer, or in the data of its error. @param isShown whether the warnings with this code were shown before */
export function warningsOf(data: object | undefined, isShown: (code: unknown) => boolean = () => false): readonly string[] {
  const { warnings } = (data ?? {}) as { readonly warnings?: unknown };
  if (!Array.isArray(warnings)) return [];
  const all = warnings as readonly { readonly code?: unknown; readonly message?: unknown }[];
  return all.filter(({ code }) => !isShown(code)).map(({ message }) => String(message));
}

function asObject(value: unknown): object | undefined {
  return typeof value === "object" && value !== null ? value : undefined;
}

/**
 * Returns a note if the last change of the lab started and did not finish: a plan compares definitions, and does not show that a destroy, a deploy that
 * replaces the lab, or a wipe stopped half way.
 */
export function unfinishedChange({ lab, last_job: last }: Pick<ResultOf<"getProjectStatus">, "lab" | "last_job">): string | undefined {
  if (last === undefined) return undefined;
  const { operation, outcome, job } = last;
  const isCut = outcome === "interrupted" || outcome === "cancelled";
  if (last.failed_early === true) return undefined;
  if (operation === "destroyProject" && (isCut || outcome === "failed"))
    return `a destroy of ${lab} did not finish (${outcome}): labwright destroy deletes the rest, labwright jobs ${job} shows the reason`;
  if (operation === "deployProject" && isCut)
    return `a deploy of ${lab} did not finish (${outcome}): labwright apply does the rest; repeat a deploy that had --replace; labwright jobs ${job} shows its steps`;
  if (operation === "reconcileProject" && isCut)
    return `an apply of ${lab} did not finish (${outcome}): labwright plan shows the rest, labwright apply does it; labwright jobs ${job} shows its steps`;
  if (operation === "takeSnapshot" && isCut)
    return `a snapshot of ${lab} was interrupted: repeat the command; labwright snapshot list shows whether it was taken`;
  if (operation === "testProject" && isCut) return `the tests of ${lab} did not finish (${outcome}): labwright test runs them again`;
  if (isCut)
    return `the last change of ${lab} (${changeName(operation)}) did not finish (${outcome}): repeat it; labwright jobs ${job} shows its steps`;
  return undefined;
}
