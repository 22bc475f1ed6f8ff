import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../contract/errors.ts";
import { blot } from "./blot.ts";
import { cutOff } from "./cut-off.ts";
import { EndlessExpression, Expressions } from "./expressions.ts";
import { ReadWindow } from "./read-window.ts";
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
  /** Where expressions are tried; absent: in a thread for this dialogue. */
  readonly expressions?: Expressions;
}

/** How much of a step's output an expectation is tried on, characters: an expected text stands near the end. */
const window = 64 << 10;
/** More output than that comes faster than it is worth trying: so often then, ms. */
const floodMs = 20;

/**
 * Types and waits, step by step. The first expected text that does not come stops it: console_timeout with what was done
 * (data.steps, data.output); node_not_running when the console ends; cutOff() when the signal aborts; bad_request for an expression that is none, or
 * that takes too long. Nothing is typed but the steps: what runs when it stops runs on.
 */
export async function runDialogue(stream: Duplex, steps: readonly DialogueStep[], options: DialogueOptions = {}): Promise<DialogueResult> {
  for (const [index, { expect }] of steps.entries()) if (typeof expect === "object") checkExpression(expect.regex, index);
  const expressions = options.expressions ?? new Expressions();
  const seen = new ReadWindow(window);
  const console = new Transcript(stream, { window: seen });
  const done: StepResult[] = [];
  const secrets: string[] = [];
  const shown = (): DialogueResult => {
    const outputs = blot(
      done.map(({ output }) => output),
      secrets,
    );
    return { steps: done.map((step, index) => ({ ...step, output: outputs[index]! })), output: outputs.join("") };
  };
  try {
    for (const [index, step] of steps.entries()) {
      const started = performance.now();
      const timeoutMs = step.timeout_ms ?? options.timeoutMs ?? 15_000;
      if (step.send !== undefined) {
        if (step.secret === true) secrets.push(step.send.replace(/[\r\n]+$/, ""));
        console.clear();
        console.send(typed(step.send));
      }
      const finish = (matched: boolean) =>
        done.push({ matched, output: renderText(console.take()), duration_ms: Math.round(performance.now() - started) });
      while (!(await matches(step.expect, index, seen.text, expressions))) {
        const left = started + timeoutMs - performance.now();
        const aborted = options.signal?.aborted === true;
        if (left <= 0 || console.ended || aborted) {
          finish(false);
          const data = { ...shown() };
          if (aborted) throw cutOff(options.signal!, data);
          if (console.ended) throw new Failure("node_not_running", "the console ended: the node stopped, or its host closed it", { data });
          throw new Failure("console_timeout", `step ${index + 1}: what it expects did not come within ${timeoutMs} ms`, { data });
        }
        if (console.length > window) await delay(Math.min(floodMs, left));
        await console.change(left, options.signal);
      }
      finish(true);
    }
    return shown();
  } finally {
    console.close();
    if (options.expressions === undefined) await expressions.close();
  }
}

function typed(text: string): string {
  const keys = text.replace(/\r\n|\n/g, "\r");
  const last = keys.charCodeAt(keys.length - 1);
  return keys === "" || !(last < 0x20 || last === 0x7f) ? `${keys}\r` : keys;
}

async function matches(expect: DialogueStep["expect"], index: number, output: string, expressions: Expressions): Promise<boolean> {
  if (expect === undefined) return true;
  if (typeof expect === "string") return output.includes(expect);
  try {
    return await expressions.test(expect.regex, output);
  } catch (error) {
    if (error instanceof EndlessExpression) throw badExpression(index, error);
    throw error;
  }
}

function checkExpression(source: string, index: number): void {
  try {
    new RegExp(source, "m");
  } catch (error) {
    throw badExpression(index, error as Error);
  }
}

function badExpression(index: number, cause: Error): Failure {
  const problem = { path: `/steps/${index}/expect/regex`, message: cause.message };
  return new Failure("bad_request", problem.message, { data: { problems: [problem] }, cause });
}
