import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { ErrorCode } from "../../contract/errors.ts";
import type { OperationId, OperationRow } from "../../contract/operations.ts";
import type { Caller } from "../../service/common/call.ts";
import { forwardedOf } from "../forwarding/forwarded.ts";

/** Characters of a session's SHA-256 that an entry has: enough to distinguish sessions. */
const sessionLength = 12;
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
  "labs",
  "lifetime",
  "id",
] as const;

/** Reads are left out, except those that open a stream into a lab or load a URL: they would hide the changes. */
export function isAudited(id: OperationId, row: OperationRow, body: unknown): boolean {
  // The service sends requests to other hosts for it.
  if (id === "importFile") return typeof fieldsOf(body)["url"] === "string";
  return row.answer === "upgrade" || row.method === "PUT" || (row.method === "POST" && !row.replay && id !== "createBrowserSession");
}

export interface Audited {
  readonly id: OperationId;
  readonly caller: Caller | undefined;
  readonly code: ErrorCode | undefined;
  /** The HTTP status of the answer; undefined at the begin of a change. */
  readonly status: number | undefined;
  /** The answer of a call that succeeded. */
  readonly answer?: unknown;
  /** The change that the call has started. */
  readonly job: string | undefined;
  /** The path of the lab that the call is about. */
  readonly lab: string | undefined;
}

/** Returns the entry of a call: its time, caller, address, operation, objects and outcome. */
export function auditEntry(
  { id, caller, status, answer, code, job, lab }: Audited,
  request: FastifyRequest,
): Readonly<Record<string, unknown>> {
  const body = fieldsOf(request.body);
  const params = fieldsOf(request.params);
  const made = fieldsOf(answer);
  // For a login: the session of its later calls.
  const session =
    caller?.session ?? (typeof made["token"] === "string" ? createHash("sha256").update(made["token"]).digest("hex") : undefined);
  const user = caller?.user ?? (id === "login" ? short(body["username"]) : id === "finishLogin" ? made["username"] : undefined);
  return {
    time: new Date().toISOString(),
    request: request.id,
    operation: id,
    ...(user !== undefined && { user }),
    ...(caller !== undefined && { role: caller.role }),
    ...(session !== undefined && { session: session.slice(0, sessionLength) }),
    ...(caller?.apiToken !== undefined && {
      token: caller.apiToken.id,
      token_name: caller.apiToken.name,
      token_scope: caller.apiToken.scope,
    }),
    address: forwardedOf(request.raw)?.address ?? request.socket.remoteAddress,
    on: {
      ...(lab !== undefined && { lab: short(lab) }),
      ...Object.fromEntries(recorded.flatMap((name) => (body[name] === undefined ? [] : [[name, short(body[name])]]))),
      ...(params["id"] !== undefined && { id: short(params["id"]) }),
      ...(id === "createToken" && made["id"] !== undefined && { id: short(made["id"]) }),
      ...(id === "importFile" && { url: short(publicUrl(String(body["url"]))) }),
    },
    ...(status === undefined ? { phase: "begin" } : { status }),
    ...(code !== undefined && { code }),
    ...(job !== undefined && { job }),
  };
}

/** Returns a URL without the parts that may be secret: the user and password, the query and the fragment. */
function publicUrl(text: string): string {
  return text.replace(/[?#].*/s, "").replace(/^([^/]*\/\/)?[^/]*@/, "$1");
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
