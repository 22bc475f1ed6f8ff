import type { ResultOf } from "../../client/index.ts";

/** Returns a note if a destroy of the lab started and did not finish: a plan compares definitions and does not show it. */
export function unfinishedDestroy({ lab, last_job: last }: Pick<ResultOf<"getProjectStatus">, "lab" | "last_job">): string | undefined {
  if (last?.operation !== "destroyProject" || !["failed", "interrupted", "cancelled"].includes(last.outcome)) return undefined;
  return `a destroy of ${lab} did not finish (${last.outcome}): labwright destroy deletes the rest, labwright jobs ${last.job} shows the reason`;
}
