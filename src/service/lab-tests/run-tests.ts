import { setTimeout as delay } from "node:timers/promises";
import type { LabTest } from "../../intent/lab/lab-test.ts";
import { checkProgram, type ProgramEnd, type Verdict } from "../conditions/check-program.ts";

/** The access of tests to the lab. */
export interface TestBench {
  /** Runs a program in a node. Throws a Failure if the node cannot run it now. */
  run(node: string, argv: readonly string[], timeoutMs: number): Promise<ProgramEnd>;
  /** Returns whether the node may run programs later, without a change of the lab, after `run` threw this failure. Absent: it may. */
  mayRecover?(node: string, failure: RunFailure): Promise<boolean>;
  /** Makes the changes of `given`; returns how to take them back. */
  give(given: NonNullable<LabTest["given"]>): Promise<() => Promise<void>>;
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** Called after each finished row. */
  readonly onRow?: (row: TestRow) => void;
}

/** A failure of the node or the host. */
export type RunFailure = Error & { readonly code: string };

/** The end of one attempt. */
interface Attempt extends Verdict {
  /** The node cannot run the check until somebody changes that. */
  readonly isLast?: true;
}

/** One test in one node. */
export interface TestRow extends Verdict {
  readonly name: string;
  readonly node: string;
  readonly kind: LabTest["check"]["kind"];
  /** Number of times that the check ran. */
  readonly attempts: number;
  readonly durationMs: number;
}

/** Maximum number of tests that run at the same time. Those that should fail take their whole time, and mostly wait. */
const parallel = { pass: 16, fail: 64 };
/** Pause between two attempts of a check. */
const pauseMs = { pass: 500, fail: 1000 };
/** A check runs at least this long before it is ended, even if `within` is over. */
const minAttemptMs = 10_000;

/** Runs tests: those without `given` at the same time, then the others one after the other. Returns the rows in the order of the tests. */
export async function runTests(tests: readonly LabTest[], bench: TestBench): Promise<readonly TestRow[]> {
  const rows = new Map<LabTest, readonly TestRow[]>();
  const found = new Map<LabTest, Map<string, TestRow>>();
  const together = async (expect: LabTest["expect"]): Promise<void> => {
    const chosen = tests.filter((test) => test.given === undefined && test.expect === expect);
    const queue = chosen.flatMap((test) => test.from.map((node) => ({ test, node })));
    await Promise.all(Array.from({ length: Math.min(parallel[expect], queue.length) }, () => worker(queue)));
  };
  const worker = async (queue: { readonly test: LabTest; readonly node: string }[]): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const row = await runTest(next.test, next.node, bench);
      found.set(next.test, (found.get(next.test) ?? new Map()).set(next.node, row));
    }
  };
  await Promise.all([together("pass"), together("fail")]);
  for (const [test, byNode] of found)
    rows.set(
      test,
      test.from.flatMap((node) => byNode.get(node) ?? []),
    );
  for (const test of tests) if (test.given !== undefined) rows.set(test, await runGiven(test, test.given, bench));
  return tests.flatMap((test) => rows.get(test) ?? []);
}

async function runGiven(test: LabTest, given: NonNullable<LabTest["given"]>, bench: TestBench): Promise<readonly TestRow[]> {
  bench.signal.throwIfAborted();
  const takeBack = await bench.give(given);
  try {
    return await Promise.all(test.from.map((node) => runTest(test, node, bench)));
  } finally {
    await takeBack();
  }
}

/**
 * Repeats a check until it passes, or the time is over. A check that should fail must still fail when the time is over, because a network may only need
 * time to find another way. A check that cannot be made is repeated too if its node may recover, for example because it is starting.
 */
async function runTest(test: LabTest, node: string, bench: TestBench): Promise<TestRow> {
  const start = bench.now();
  const deadline = start + test.within * 1000;
  const { argv, judge } = checkProgram(test.check);
  for (let [attempts, hasFailed] = [1, false]; ; attempts++) {
    bench.signal.throwIfAborted();
    const { isLast = false, ...verdict } = await attempt(bench, node, argv, judge, Math.max(minAttemptMs, deadline - bench.now()));
    const isDecided = verdict.outcome === "passed" && (test.expect === "pass" || hasFailed);
    const left = deadline - bench.now();
    if (isDecided || isLast || left <= 0 || (test.expect === "pass" && left < pauseMs.pass)) {
      const durationMs = Math.round(bench.now() - start);
      const row = { name: test.name, node, kind: test.check.kind, ...expected(test, verdict, hasFailed, durationMs), attempts, durationMs };
      bench.onRow?.(row);
      return row;
    }
    hasFailed ||= verdict.outcome === "failed";
    // The last check that should fail starts when the time is over.
    await delay(Math.min(left, pauseMs[test.expect]), undefined, { signal: bench.signal });
  }
}

async function attempt(
  bench: TestBench,
  node: string,
  argv: readonly string[],
  judge: (end: ProgramEnd) => Verdict,
  timeoutMs: number,
): Promise<Attempt> {
  try {
    return judge(await bench.run(node, argv, timeoutMs));
  } catch (error) {
    if (bench.signal.aborted) throw error;
    if (!isRefusal(error)) throw error;
    const isLast = (await bench.mayRecover?.(node, error)) === false;
    return { outcome: "error", message: error.message, ...(isLast && { isLast }) };
  }
}

/** Failures of the node or the host make a test fail with their text; anything else is a defect of the service. */
function isRefusal(error: unknown): error is RunFailure {
  return error instanceof Error && "code" in error && error.code !== "internal";
}

function expected(test: LabTest, verdict: Verdict, hasFailed: boolean, durationMs: number): Verdict {
  if (test.expect === "pass" || verdict.outcome === "error") return verdict;
  if (verdict.outcome === "failed") return { outcome: "passed", message: `fails as expected: ${verdict.message}` };
  const passes = hasFailed ? `passes again after ${(durationMs / 1000).toFixed(1)} s` : "passes";
  return { outcome: "failed", message: `should fail, but ${passes}: ${verdict.message}` };
}
