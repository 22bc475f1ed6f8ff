import type { Row } from "./rows.ts";
import type { JobError, JobKeyRow, JobOutcome, JobRow, JobStatus, JobStep } from "./store.ts";
import { readJobAnswer } from "./stored-json.ts";

/** Returns the job of a row of the journal. A damaged text makes it `unreadable`. */
export function jobOfRow(row: Row | undefined): JobRow | undefined {
  if (row === undefined) return undefined;
  const [request, steps] = [readJson(row["request"]), readJson(row["steps"])];
  return {
    id: row["id"] as string,
    lab: row["lab"] as string,
    ...(row["identity"] !== null && { identity: row["identity"] as string }),
    ...(row["owner"] !== null && { owner: row["owner"] as string }),
    ...((request === undefined || !isSteps(steps)) && { unreadable: true as const }),
    operation: row["operation"] as string,
    user: row["user"] as string,
    request: request ?? null,
    status: row["status"] as JobStatus,
    ...(row["outcome"] === null ? {} : { outcome: row["outcome"] as JobOutcome }),
    startedAt: row["started_at"] as number,
    ...(row["finished_at"] === null ? {} : { finishedAt: row["finished_at"] as number }),
    steps: isSteps(steps) ? steps : [],
    done: row["done"] as number,
    ...(row["result"] === null ? {} : { result: readJson(row["result"]) }),
    ...(row["error"] === null ? {} : { error: errorOf(readJson(row["error"])) }),
  };
}

/** Returns `undefined` for a damaged text: one row must not prevent the start of the service or the list of jobs. */
function readJson(text: unknown): unknown {
  try {
    return JSON.parse(text as string);
  } catch {
    return undefined;
  }
}

function isSteps(value: unknown): value is readonly JobStep[] {
  return Array.isArray(value) && value.every((step) => typeof step === "object" && step !== null && typeof step.key === "string");
}

function errorOf(value: unknown): JobError {
  const known = value as Partial<JobError> | null | undefined;
  if (typeof known?.code === "string" && typeof known.error === "string") return known as JobError;
  return { code: "internal", error: "the job's error cannot be read any more" };
}

/** Returns the Idempotency-Key of a row. Throws `internal` if its answer is damaged. */
export function jobKeyOfRow(row: Row | undefined): JobKeyRow | undefined {
  if (row === undefined) return undefined;
  return {
    user: row["user"] as string,
    key: row["key"] as string,
    request: row["request"] as string,
    job: row["job"] as string,
    createdAt: row["created_at"] as number,
    ...(row["answer"] !== null && { answer: readJobAnswer(row["job"] as string, row["answer"] as string) }),
  };
}
