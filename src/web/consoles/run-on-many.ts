import type { ConsoleExecResult } from "../../contract/schemas/console.ts";
import { call } from "../service/api.ts";

export interface ManyCommand {
  readonly lab: string;
  readonly command: string;
  /** Of each node, ms. */
  readonly timeoutMs: number;
  /** Keys of nodes. */
  readonly nodes: readonly string[];
  readonly signal: AbortSignal;
  /** Told of each node as soon as it has answered, or failed. */
  readonly onResult: (result: ConsoleExecResult) => void;
}

/** A browser has six connections for one service, and pages need some for themselves. */
const lanes = 3;
/** What still waits for a lane after this goes all at once: slow nodes then hold up nobody, and are told together. */
const patienceMs = 1_500;
/** Beyond the time that a node has: for the way there and back. */
const spareMs = 15_000;

/** Runs a command on nodes, next to at the same time, and tells each answer as it comes. Throws LabwrightError of the whole: of the lab, the session. */
export async function runOnMany({ lab, command, timeoutMs, nodes, signal, onResult }: ManyCommand): Promise<void> {
  const waiting = [...nodes];
  const stopped = new AbortController();
  const until = AbortSignal.any([signal, stopped.signal]);
  const run = async (some: readonly string[]) => {
    const { results = [] } = await call(
      "execConsoleMany",
      { lab, command, timeout_ms: timeoutMs, targets: some.map((node) => ({ node })) },
      { timeoutMs: timeoutMs + spareMs, signal: until },
    );
    for (const result of results) onResult(result);
  };
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await run([next]);
  };
  let rest: Promise<void> | undefined;
  const patience = setTimeout(() => {
    if (waiting.length === 0) return;
    rest = run(waiting.splice(0));
    // It is thrown below, when the lanes have ended.
    rest.catch(() => undefined);
  }, patienceMs);
  try {
    // When they have ended nobody waits any more.
    await Promise.all(Array.from({ length: lanes }, lane));
    await rest;
  } finally {
    clearTimeout(patience);
    stopped.abort();
  }
}
