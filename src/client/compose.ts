import type { OperationId, OperationRow } from "../contract/operations.ts";
import type { CallOptions } from "./methods.ts";

/** An operation as a request, the same in Node and in browsers. */
export interface ComposedCall {
  readonly method: OperationRow["method"];
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Milliseconds; 0: no limit. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** The operation changes nothing, so that it may be repeated on a new connection. */
  readonly repeatable: boolean;
}

export type Input = Readonly<Record<string, unknown>>;

/** Seconds for Prefer: wait of a call without a time-out. */
const maxWaitSeconds = 86_400;

/**
 * Returns the request of an operation: parameters in the path, the other fields in the query or the body. `headers` are added to the headers of every call.
 * `usualMs` is the program's own time-out for this operation. Throws TypeError if a path parameter is missing.
 */
export function composeCall(
  id: OperationId,
  row: OperationRow,
  input: Input,
  options: CallOptions,
  { headers = {}, usualMs }: { readonly headers?: Readonly<Record<string, string>>; readonly usualMs?: number | undefined },
): ComposedCall {
  const rest: Record<string, unknown> = { ...input };
  let path = row.path.replace(/\{(\w+)\}/g, (_match, name: string) => {
    const value = rest[name];
    delete rest[name];
    if (typeof value !== "string" || value === "") throw new TypeError(`${id}: "${name}" is missing`);
    return encodeURIComponent(value);
  });
  if (row.method === "GET") {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(rest)) if (value !== undefined) query.append(name, String(value));
    if (query.size > 0) path += `?${query}`;
  }
  const own = options.timeoutMs ?? usualMs;
  // The service has the same default time-out. Without the header it would give up earlier than a client with a longer one.
  const wait = own === undefined ? [] : [`wait=${own > 0 ? Math.ceil(own / 1000) : maxWaitSeconds}`];
  const prefer = [headers.Prefer ?? [], wait].flat().join(", ");
  const body = row.body === "json" ? JSON.stringify(rest) : row.body === "unread" ? "{}" : undefined;
  return {
    method: row.method,
    path,
    headers: {
      Accept: row.answer === "events" ? "application/x-ndjson, application/json" : "application/json",
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(row.change && options.idempotencyKey !== undefined ? { "Idempotency-Key": options.idempotencyKey } : {}),
      ...headers,
      ...(prefer === "" ? {} : { Prefer: prefer }),
    },
    body,
    timeoutMs: own ?? defaultTimeout(row, input),
    signal: options.signal,
    repeatable: row.replay || id === "getHealth",
  };
}

/** The default time limit of a dialogue step, ms. */
const stepMs = 15_000;
/** Time for the transport of an answer, ms. */
const travelMs = 5_000;

/**
 * Returns the time-out of a call, ms. The input may give a console command, one of several targets, or the steps of a dialogue more time than the default.
 * The service uses the same limits. Its answer, which names the host that did not respond, needs additional time for the transport.
 */
function defaultTimeout(row: OperationRow, input: Input): number {
  const own = timeOf(input);
  const max = Math.max(own ?? 0, ...itemsOf(input.targets).map((target) => timeOf(target) ?? 0));
  const steps = itemsOf(input.steps).reduce<number>((sum, step) => sum + (timeOf(step) ?? own ?? stepMs), 0);
  const asked = Math.max(max, steps);
  const usual = row.errors.includes("host_timeout") ? row.timeoutMs + travelMs : row.timeoutMs;
  return asked > 0 ? Math.max(usual, asked + travelMs) : usual;
}

function timeOf(item: unknown): number | undefined {
  const { timeout_ms: asked } = Object(item) as { readonly timeout_ms?: unknown };
  return typeof asked === "number" ? asked : undefined;
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
