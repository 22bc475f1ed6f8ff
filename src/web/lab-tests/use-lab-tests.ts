import { useCallback, useRef, useState } from "preact/hooks";
import type { TestData } from "../../contract/schemas/tests.ts";
import { call, changes } from "../service/api.ts";

export interface LabTests {
  /** The results of the newest run; of a repeated test, its newest result. */
  readonly results: TestData["tests"] | undefined;
  readonly isRunning: boolean;
  readonly error: unknown;
  /** Runs tests by their names; all without names. */
  readonly run: (names?: readonly string[]) => Promise<void>;
  readonly cancel: () => void;
}

/** Runs the tests of a lab as a job, which goes on and restores the lab if the page is left. */
export function useLabTests(lab: string): LabTests {
  const [results, setResults] = useState<TestData["tests"]>();
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>();
  const job = useRef<string>(undefined);
  const run = useCallback(
    async (names?: readonly string[]) => {
      setRunning(true);
      setError(undefined);
      try {
        const started = await changes.startJob("testProject", { lab, ...(names !== undefined && { tests: [...names] }) });
        job.current = started.job;
        const { tests } = await changes.waitForJob("testProject", started.job);
        setResults((before) => (names === undefined || before === undefined ? tests : merged(before, tests)));
      } catch (problem) {
        setError(problem);
      }
      job.current = undefined;
      setRunning(false);
    },
    [lab],
  );
  const cancel = useCallback(() => {
    if (job.current !== undefined) call("cancelJob", { id: job.current }).catch(setError);
  }, []);
  return { results, isRunning, error, run, cancel };
}

/** Returns all results, those of the repeated tests replaced. */
export function merged(before: TestData["tests"], again: TestData["tests"]): TestData["tests"] {
  const newest = new Map(again.map((result) => [keyOf(result), result]));
  return before.map((result) => newest.get(keyOf(result)) ?? result);
}

export function keyOf({ name, node }: TestData["tests"][number]): string {
  return `${node} ${name}`;
}
