import type { Static, TSchema } from "typebox";
import { Errors } from "typebox/value";
import type { Caller } from "../common/call.ts";
import type { ChangeParts } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import type { Job } from "../jobs/jobs.ts";
import type { JobRow } from "../store/store.ts";

/** One run of a change: started by a call, or continued after a restart. */
export interface ChangeRun {
  readonly context: ChangeParts;
  readonly job: Job;
  readonly target: Target;
  /** The journal row of the interrupted change. Absent for a call. */
  readonly interrupted?: JobRow;
}

/** A kind of change: the format of its stored request, and the one function that runs it for a call and after a restart. */
export interface ChangeKind<Schema extends TSchema = TSchema, Result = unknown> {
  /** Operation id: deployProject … */
  readonly operation: string;
  /** Version of the stored request. Rows without a version have version 1. */
  readonly version: number;
  readonly request: Schema;
  /** The change has no steps in the journal. Recovery always runs it again, because its outcome on the host is unknown. */
  readonly isStepless?: true;
  /** Returns the facts of the request that stay in the job's error if a restart ends the change: no secrets. A repeat of the change may need them. */
  keptFacts?(request: Static<Schema>): Readonly<Record<string, string>>;
  /** Converts a stored request of an older version to the current one. Absent if `version` is 1. */
  upgrade?(request: unknown, version: number): unknown;
  /** Returns the target and request with which `run` finishes an interrupted change. Default: both unchanged. */
  recover?(run: ChangeRun, request: Static<Schema>, row: JobRow): Promise<{ readonly target: Target; readonly request: Static<Schema> }>;
  /** Must be safe to repeat. */
  run(run: ChangeRun, request: Static<Schema>): Promise<Result>;
}

/**
 * Returns the request in the form in which the journal stores it.
 * @param caller absent for a change of the service itself
 */
export function storedRequest<Schema extends TSchema>(
  { version }: ChangeKind<Schema>,
  request: Static<Schema>,
  caller?: Pick<Caller, "apiToken" | "role">,
): unknown {
  return { version, ...(caller?.apiToken !== undefined && caller.role === "user" && { as_user: true }), ...(request as object) };
}

/** Returns whether the change of a journal row was made with an API token that has no rights of an admin: its recovery must not have them either. */
export function isAsUser({ request }: Pick<JobRow, "request">): boolean {
  return isFields(request) && request["as_user"] === true;
}

/** Returns the validated request of a journal row, or the reason why this release cannot read it. */
export function readRequest<Schema extends TSchema>(
  kind: ChangeKind<Schema>,
  stored: unknown,
): { readonly request: Static<Schema> } | { readonly problem: string } {
  const { version: given = 1, as_user: _asUser, ...fields } = isFields(stored) ? stored : {};
  if (typeof given !== "number" || given > kind.version) {
    const readable = kind.version === 1 ? "version 1" : `versions 1 to ${kind.version}`;
    return { problem: `its request of ${kind.operation} has version ${JSON.stringify(given)}; this release reads ${readable}` };
  }
  const request = !isFields(stored) ? stored : given < kind.version ? kind.upgrade?.(fields, given) : fields;
  const [error] = Errors(kind.request, request);
  if (error === undefined) return { request: request as Static<Schema> };
  return { problem: `its row in the journal holds no request of ${kind.operation}: ${error.instancePath || "request"} ${error.message}` };
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
