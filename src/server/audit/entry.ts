import type { FastifyRequest } from "fastify";
import type { ErrorCode } from "../../contract/errors.ts";
import type { OperationId, OperationRow } from "../../contract/operations.ts";
import type { Caller } from "../../service/common/call.ts";

/** Maximum length of a text in an entry, characters, and of a list. */
const maxLength = 200;

/** Fields of bodies that name the objects of an operation. No other field is recorded: texts, commands, files and passwords may be secret. */
const recorded = [
  "node",
  "nodes",
  "interface",
  "endpoints",
  "a",
  "b",
  "action",
  "snapshot",
  "owner",
  "grants",
  "locked",
  "resume",
  "user",
  "role",
  "name",
  "scope",
  "lifetime",
] as const;

/** Reads are left out, except those that open a stream into a lab: they would hide the changes. */
export function isAudited(id: OperationId, row: OperationRow): boolean {
  return row.answer === "upgrade" || row.method === "PUT" || (row.method === "POST" && !row.replay && id !== "createBrowserSession");
}

export interface Audited {
  readonly id: OperationId;
  readonly caller: Caller | undefined;
  readonly code: ErrorCode | undefined;
  /** The HTTP status of the answer. */
  readonly status: number;
  /** The change that the call has started. */
  readonly job: string | undefined;
  /** The path of the lab that the call is about. */
  readonly lab: string | undefined;
}

/** Returns the entry of a call: its time, caller, address, operation, objects and outcome. */
export function auditEntry({ id, caller, status, code, job, lab }: Audited, request: FastifyRequest): Readonly<Record<string, unknown>> {
  const body = fieldsOf(request.body);
  const params = fieldsOf(request.params);
  const user = caller?.user ?? (id === "login" ? short(body["username"]) : undefined);
  return {
    time: new Date().toISOString(),
    request: request.id,
    operation: id,
    ...(user !== undefined && { user }),
    ...(caller !== undefined && { role: caller.role, session: caller.session.slice(0, 12) }),
    ...(caller?.limit !== undefined && { token_scope: caller.limit }),
    address: request.socket.remoteAddress,
    on: {
      ...(lab !== undefined && { lab: short(lab) }),
      ...Object.fromEntries(recorded.flatMap((name) => (body[name] === undefined ? [] : [[name, short(body[name])]]))),
      ...(params["id"] !== undefined && { id: short(params["id"]) }),
    },
    status,
    ...(code !== undefined && { code }),
    ...(job !== undefined && { job }),
  };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : {};
}

/** Returns the value with long texts, lists and objects cut: a caller chooses them. */
function short(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return value.length > maxLength ? `${value.slice(0, maxLength)}…` : value;
  if (typeof value !== "object" || value === null) return value;
  if (depth === 2) return "…";
  if (Array.isArray(value)) return value.slice(0, maxLength).map((one) => short(one, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 20)
      .map(([name, one]) => [String(short(name)), short(one, depth + 1)]),
  );
}
