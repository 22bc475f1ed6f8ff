import { useEffect, useRef, useState } from "preact/hooks";
import type { ConsoleExecResult } from "../../contract/schemas/console.ts";
import { runOnMany } from "./run-on-many.ts";

/** A command that ran or runs on several nodes. */
export interface BroadcastRun {
  /** Keys of the nodes, in the order of the shown answers. */
  readonly nodes: readonly string[];
  readonly results: ReadonlyMap<string, ConsoleExecResult>;
  readonly ended: boolean;
}

export interface BroadcastInput {
  readonly command: string;
  /** Timeout of each node, s. */
  readonly seconds: number;
  /** Keys of the nodes. */
  readonly nodes: readonly string[];
}

export interface BroadcastControl {
  /** undefined before the first command. */
  readonly run: BroadcastRun | undefined;
  readonly error: unknown;
  readonly start: (input: BroadcastInput) => Promise<void>;
  readonly stop: () => void;
}

/** Runs a command on several nodes. It is stopped when the component is removed. */
export function useBroadcast(lab: string): BroadcastControl {
  const [run, setRun] = useState<BroadcastRun>();
  const [error, setError] = useState<unknown>();
  const controller = useRef<AbortController>(undefined);
  useEffect(() => () => controller.current?.abort(), []);
  const start = async ({ command, seconds, nodes }: BroadcastInput) => {
    setError(undefined);
    setRun({ nodes, results: new Map(), ended: false });
    const stopped = new AbortController();
    controller.current = stopped;
    const onResult = (result: ConsoleExecResult) =>
      setRun((now) => now && { ...now, results: new Map(now.results).set(result.node ?? "", result) });
    try {
      await runOnMany({ lab, command, timeoutMs: seconds * 1000, nodes, signal: stopped.signal, onResult });
    } catch (problem) {
      if (!stopped.signal.aborted) setError(problem);
    }
    setRun((now) => now && { ...now, ended: true });
  };
  return { run, error, start, stop: () => controller.current?.abort() };
}
