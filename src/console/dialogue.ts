import type { Duplex } from "node:stream";
import { createContext, Script } from "node:vm";
import { Failure } from "../contract/errors.ts";
import { renderText } from "./terminal.ts";
import { Transcript } from "./transcript.ts";

export interface DialogueStep {
  /** Typed first. A line end is added unless the text ends with one or with a control character. */
  readonly send?: string;
  /** Then waited for: this text, or a match of this regular expression, in what a person would read since the step began. */
  readonly expect?: string | { readonly regex: string };
  readonly timeout_ms?: number;
  /** What is sent is blotted out of every output. */
  readonly secret?: boolean;
}

export interface StepResult {
  readonly matched: boolean;
  readonly output: string;
  readonly duration_ms: number;
}

export interface DialogueResult {
  readonly steps: readonly StepResult[];
  readonly output: string;
}

export interface DialogueOptions {
  readonly signal?: AbortSignal | undefined;
  /** Of steps without their own. Default 15,000. */
  readonly timeoutMs?: number;
}

/** How much of a step's output an expression is tried on: an expected text stands near the end. */
const window = 64 << 10;

/**
 * Types and waits, step by step. The first expected text that does not come stops it: console_timeout with what was done
 * (data.steps, data.output); node_not_running when the console ends; bad_request for an expression that is none.
 */
export async function runDialogue(stream: Duplex, steps: readonly DialogueStep[], options: DialogueOptions = {}): Promise<DialogueResult> {
  const expected = steps.map((step, index) => matcher(step.expect, index));
  const console = new Transcript(stream);
  const done: StepResult[] = [];
  const secrets: string[] = [];
  const blot = (text: string) => secrets.reduce((shown, secret) => shown.replaceAll(secret, "********"), text);
  const all = () => done.map(({ output }) => output).join("");
  try {
    for (const [index, step] of steps.entries()) {
      const started = performance.now();
      const timeoutMs = step.timeout_ms ?? options.timeoutMs ?? 15_000;
      const match = expected[index]!;
      if (step.send !== undefined) {
        if (step.secret === true && step.send.trim() !== "") secrets.push(step.send.replace(/[\r\n]+$/, ""));
        console.clear();
        console.send(typed(step.send));
      }
      const result = (matched: boolean): StepResult => ({
        matched,
        output: blot(renderText(console.take())),
        duration_ms: Math.round(performance.now() - started),
      });
      for (;;) {
        const end = match(renderText(console.text().slice(-window)));
        if (end) break;
        const left = started + timeoutMs - performance.now();
        const gone = console.ended || options.signal?.aborted === true;
        if (left <= 0 || gone) {
          done.push(result(false));
          const data = { steps: done, output: all() };
          if (console.ended) throw new Failure("node_not_running", "the console ended: the node stopped", { data });
          throw new Failure("console_timeout", `step ${index + 1}: what it expects did not come within ${timeoutMs} ms`, { data });
        }
        await console.change(left, options.signal);
      }
      done.push(result(true));
    }
    return { steps: done, output: all() };
  } finally {
    console.close();
  }
}

function typed(text: string): string {
  const keys = text.replace(/\r\n|\n/g, "\r");
  const last = keys.charCodeAt(keys.length - 1);
  return keys === "" || !(last < 0x20 || last === 0x7f) ? `${keys}\r` : keys;
}

function matcher(expect: DialogueStep["expect"], index: number): (output: string) => boolean {
  if (expect === undefined) return () => true;
  if (typeof expect === "string") return (output) => output.includes(expect);
  let expression: RegExp;
  try {
    expression = new RegExp(expect.regex, "m");
  } catch (error) {
    const problem = { path: `/steps/${index}/expect/regex`, message: (error as Error).message };
    throw new Failure("bad_request", problem.message, { data: { problems: [problem] } });
  }
  // An expression may take exponential time; inside a context it can be stopped, and the service goes on.
  const context = createContext({ expression, output: "" });
  const script = new Script("expression.test(output)");
  return (output) => {
    context["output"] = output;
    try {
      return script.runInContext(context, { timeout: 250 }) === true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      const problem = { path: `/steps/${index}/expect/regex`, message: "the expression takes too long on this output" };
      throw new Failure("bad_request", problem.message, { data: { problems: [problem] }, cause: error });
    }
  };
}
