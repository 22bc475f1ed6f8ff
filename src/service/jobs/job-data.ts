import type { JobData } from "../../contract/schemas/jobs.ts";
import { timeText } from "../common/clock.ts";
import type { JobRow } from "../store/store.ts";
import { jobError, jobResult, leftOut } from "./job-answer.ts";

/**
 * Returns a change as the API shows it.
 * @param waiting why its current step waits
 */
export function jobData(row: JobRow, waiting: string | undefined): JobData {
  const step = row.status === "running" ? row.steps[row.done] : undefined;
  const absent = leftOut(row.operation, row.result);
  return {
    job: row.id,
    lab: row.lab,
    operation: row.operation,
    user: row.user,
    status: row.status,
    ...(row.outcome !== undefined && { outcome: row.outcome }),
    started_at: timeText(row.startedAt),
    ...(row.finishedAt !== undefined && { finished_at: timeText(row.finishedAt) }),
    step: row.done,
    steps: row.steps.length,
    ...(step !== undefined && { text: `${step.op} ${step.kind} ${step.key}` }),
    ...(waiting !== undefined && { waiting }),
    // Rows of older versions contain the complete answer.
    ...(row.result !== undefined && { result: jobResult(row.result) }),
    ...(absent.length > 0 && { left_out: absent }),
    ...(row.error !== undefined && { error: jobError(row.error) }),
  };
}
