import type { OperationId, OperationRow } from "../contract/operations.ts";
import type { CallOptions } from "./methods.ts";

/** An operation as a request: what Node and browsers send alike. */
export interface ComposedCall {
  readonly method: OperationRow["method"];
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Milliseconds; 0: no limit. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Changes nothing: may be sent again on a fresh connection. */
  readonly repeatable: boolean;
}

export type Input = Readonly<Record<string, unknown>>;

/** Seconds: what Prefer: wait says for a call that waits as long as it takes. */
const longestWait = 86_400;

/**
 * The request of an operation: parameters in the path, the rest in the query or the body. `headers` come on top of those that every call
 * has; `usualMs` is the caller's own time-out for this operation. Throws TypeError where a path parameter is missing.
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
  // The service has the same default, and would give up first where the caller waits longer.
  const wait = own === undefined ? [] : [`wait=${own > 0 ? Math.ceil(own / 1000) : longestWait}`];
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

/** What a step of a dialogue may take that does not say, ms. */
const stepMs = 15_000;
/** What an answer needs besides, to travel, ms. */
const travelMs = 5_000;

/**
 * A console command, one of several targets, or the steps of a dialogue together may be given more time than the call's default. The service ends a call
 * that waits for its host in the same time: its answer, which names the host, gets time to travel.
 */
function defaultTimeout(row: OperationRow, input: Input): number {
  const own = timeOf(input);
  const most = Math.max(own ?? 0, ...itemsOf(input.targets).map((target) => timeOf(target) ?? 0));
  const steps = itemsOf(input.steps).reduce<number>((sum, step) => sum + (timeOf(step) ?? own ?? stepMs), 0);
  const asked = Math.max(most, steps);
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
