import type { Job, ResultOf } from "../../client/index.ts";

export function statusOf({ status, outcome, error }: Job): string {
  const word = outcome === undefined || outcome === "finished" || outcome === status ? status : `${status}, ${outcome}`;
  return error === undefined ? word : `${word} (${error.code})`;
}

/** A host may do many steps in one call: if the service ended during the call, only the host knows which of them are done. */
function isCountUncertain({ outcome, step, steps }: Job): boolean {
  return outcome === "interrupted" && step < steps;
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
    ["change", `${job.operation} of ${job.user}`],
    ["status", statusOf(job)],
    ["steps", stepsText(job)],
    ["started", job.started_at],
    ...(job.finished_at === undefined ? [] : [["ended", job.finished_at]]),
    ...(job.error === undefined ? [] : [["error", job.error.error]]),
  ];
  return lines.map(([name = "", value = ""]) => `${name.padEnd(8)} ${value}`).join("\n");
}

/** Returns a note if a destroy of the lab started and did not finish: a plan compares definitions and does not show it. */
export function unfinishedDestroy({ lab, last_job: last }: Pick<ResultOf<"getProjectStatus">, "lab" | "last_job">): string | undefined {
  if (last?.operation !== "destroyProject" || !["failed", "interrupted", "cancelled"].includes(last.outcome)) return undefined;
  return `a destroy of ${lab} did not finish (${last.outcome}): labwright destroy deletes the rest, labwright jobs ${last.job} shows the reason`;
}
