import type { ConsoleExecResult } from "../../contract/schemas/console.ts";
import { call } from "../service/api.ts";

export interface ManyCommand {
  readonly lab: string;
  readonly command: string;
  /** Timeout of each node, ms. */
  readonly timeoutMs: number;
  /** Keys of nodes. */
  readonly nodes: readonly string[];
  readonly signal: AbortSignal;
  /** Called for each node as soon as it has answered or failed. */
  readonly onResult: (result: ConsoleExecResult) => void;
}

/** Maximum number of parallel requests. A browser opens six connections to one service, and the pages need some of them. */
const maxRequests = 3;
/** After this time the remaining nodes are sent in one request, ms, so that slow nodes do not delay the others. */
const singleRequestsMs = 1_500;
/** Added to the timeout of a node for the request itself, ms. */
const requestOverheadMs = 15_000;

/**
 * Runs a command on nodes in parallel, and reports each result as it arrives. A failure of one node is a result. Throws LabwrightError if a request
 * fails, for example because the lab was deleted or the session has ended.
 */
export async function runOnMany({ lab, command, timeoutMs, nodes, signal, onResult }: ManyCommand): Promise<void> {
  const waiting = [...nodes];
  const stopped = new AbortController();
  const until = AbortSignal.any([signal, stopped.signal]);
  const run = async (targets: readonly string[]) => {
    const { results = [] } = await call(
      "execConsoleMany",
      { lab, command, timeout_ms: timeoutMs, targets: targets.map((node) => ({ node })) },
      { timeoutMs: timeoutMs + requestOverheadMs, signal: until },
    );
    for (const result of results) onResult(result);
  };
  const runOneByOne = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await run([next]);
  };
  let rest: Promise<void> | undefined;
  const timer = setTimeout(() => {
    if (waiting.length === 0) return;
    rest = run(waiting.splice(0));
    // Its error is thrown below; without this handler it would be reported as unhandled until then.
    rest.catch(() => undefined);
  }, singleRequestsMs);
  try {
    await Promise.all(Array.from({ length: maxRequests }, runOneByOne));
    await rest;
  } finally {
    clearTimeout(timer);
    stopped.abort();
  }
}
