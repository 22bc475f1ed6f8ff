import { Compile } from "typebox/compile";
import { type ErrorCode, errors } from "../../src/contract/errors.ts";
import { commonErrors, type OperationId, type OperationRow, operations } from "../../src/contract/operations.ts";
import { JobStarted } from "../../src/contract/schemas/jobs.ts";
import { dataSchemas, requestSchemas } from "../../src/contract/schemas/table.ts";
import type { Case } from "./cases.ts";
import { headerOf, type Reply } from "./replies.ts";

interface Validator {
  Check(value: unknown): boolean;
  Errors(value: unknown): Iterable<unknown>;
}

const ids = Object.keys(operations) as OperationId[];
const dataOf = new Map<OperationId, Validator>(ids.map((id) => [id, Compile(dataSchemas[id])]));
const bodyOf = new Map<OperationId, Validator>(
  ids.flatMap((id) => {
    const { body } = requestSchemas[id] as { readonly body?: Parameters<typeof Compile>[0] };
    return body === undefined ? [] : [[id, Compile(body)] as const];
  }),
);
const jobStarted: Validator = Compile(JobStarted);

/** Codes that no request can cause on the memory host: a defect, a broken step, an absent host. */
const neverHere: ReadonlySet<string> = new Set(["internal", "overloaded", "host_error", "host_unreachable", "host_timeout"]);

const allowed = new Map<OperationId, ReadonlySet<string>>(
  ids.map((id) => [id, new Set([...commonErrors, ...operations[id].errors].filter((code) => !neverHere.has(code)))]),
);
const anyCode = new Set(Object.keys(errors).filter((code) => !neverHere.has(code) && errors[code as ErrorCode].status !== 0));

/** Frames of a stack, and the places of our sources. */
const stack = /\bat (?:async )?(?:new )?[\w.<>$]+ \((?:file|node|\/)|node:internal|node_modules|\/src\/\w+\/[\w/-]+\.(?:ts|js)\b/;

export interface Verdict {
  /** Absent: the answer is one that the contract allows. */
  readonly failure?: string;
  /** For an envelope with ok. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Status and code, for the tally. */
  readonly outcome: string;
}

/** Judges an answer by the contract. `secrets` must not stand in it. */
export function judge(sent: Case, reply: Reply, secrets: readonly string[]): Verdict {
  const outcome = String(reply.status);
  const bad = (failure: string): Verdict => ({ failure, outcome });
  if (!headerOf(reply, "x-request-id")) return bad("has no X-Request-Id");
  if (sent.method === "HEAD") return reply.status < 500 ? { outcome } : bad("5xx");
  const row: OperationRow | undefined = sent.operation && operations[sent.operation];
  if (reply.status === 101) {
    return row === undefined || row.answer === "upgrade" ? { outcome } : bad("switched protocols where none is offered");
  }
  const text = reply.body.toString("latin1");
  if (stack.test(text)) return bad("shows a stack or a source file");
  for (const secret of secrets) if (text.includes(secret)) return bad("shows a secret");
  const type = headerOf(reply, "content-type") ?? "";
  // The front door leads to the pages.
  if (reply.status === 302) return row === undefined && headerOf(reply, "location") === "/ui/" ? { outcome } : bad("leads elsewhere");
  if (!type.startsWith("application/json")) {
    const bytes = row === undefined || row.answer === "bytes" || row.answer === "events";
    return reply.status === 200 && bytes ? { outcome } : bad(`answers ${type || "no media type"}`);
  }
  let envelope: Record<string, unknown>;
  try {
    envelope = JSON.parse(reply.body.toString()) as Record<string, unknown>;
  } catch {
    return bad("is no JSON");
  }
  if (reply.status !== 200) return judgeFailure(sent, reply, envelope);
  if (row?.answer === "document" || (row === undefined && "openapi" in envelope)) return { outcome };
  if (envelope.ok !== true || "error" in envelope || "code" in envelope) return bad("is 200 without ok");
  if (sent.mustBe !== undefined) return bad(`must be ${sent.mustBe}`);
  const data = (envelope.data ?? {}) as Readonly<Record<string, unknown>>;
  if (sent.operation === undefined) return { outcome, data };
  const validator = dataOf.get(sent.operation);
  if (validator?.Check(envelope.data) === false && !(sent.async && jobStarted.Check(envelope.data))) {
    const [first] = validator.Errors(envelope.data);
    return bad(`data breaks its schema: ${JSON.stringify(first)}`);
  }
  if (sent.judged !== undefined && bodyIsRight(sent.operation, sent.judged) === false) return bad("took a body that its schema refuses");
  return { outcome, data };
}

function judgeFailure(sent: Case, reply: Reply, envelope: Readonly<Record<string, unknown>>): Verdict {
  const { ok, error, code } = envelope;
  const outcome = `${reply.status} ${String(code)}`;
  const bad = (failure: string): Verdict => ({ failure: `${failure}: ${String(error).slice(0, 300)}`, outcome });
  if (ok !== false || typeof error !== "string" || typeof code !== "string") return bad("is no failure envelope");
  if (!Object.hasOwn(errors, code)) return bad("has an unknown code");
  if (errors[code as ErrorCode].status !== reply.status) return bad("has another status than its code");
  const may = sent.operation === undefined ? anyCode : allowed.get(sent.operation);
  if (!may?.has(code)) return bad("has a code that it may not have here");
  if (sent.mustBe !== undefined && code !== sent.mustBe) return bad(`must be ${sent.mustBe}`);
  if (reply.status === 401 && headerOf(reply, "www-authenticate") !== "Bearer") return bad("401 without WWW-Authenticate");
  if ((code === "lab_busy" || code === "rate_limited") && !/^\d+$/.test(headerOf(reply, "retry-after") ?? "")) return bad("no Retry-After");
  if (sent.judged !== undefined && sent.operation !== undefined) {
    // A body over the limit is refused before it is parsed.
    const refused = code === "bad_request" || code === "unknown_field" || code === "payload_too_large";
    if (bodyIsRight(sent.operation, sent.judged) === false && !refused) return bad("did not refuse a body that breaks its schema");
  }
  return { outcome };
}

/** Undefined if this cannot be decided here. */
function bodyIsRight(id: OperationId, body: string | Buffer): boolean | undefined {
  const text = body.toString();
  // Keys that reach for the prototype are dropped before the schema is asked.
  if (/__proto__|constructor|prototype|\\u/.test(text)) return undefined;
  if (Buffer.isBuffer(body) && text.includes("\ufffd")) return false;
  try {
    // A byte order mark before the text is ignored, as RFC 8259 allows.
    return bodyOf.get(id)?.Check(JSON.parse(text.replace(/^\ufeff/, "")));
  } catch {
    return false;
  }
}
