import type { Duplex } from "node:stream";
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { Failure } from "../../contract/errors.ts";
import { cutOff } from "../text/cut-off.ts";
import { looksLikePrompt } from "../text/prompt.ts";
import { ReadWindow } from "../text/read-window.ts";
import { maxSecretCharacters, redact } from "../text/redact.ts";
import { lastLine, renderText } from "../text/terminal.ts";
import { Transcript } from "../text/transcript.ts";
import { BadExpression, Expressions } from "./expressions.ts";
import { type TypingOptions, typeText } from "./type-text.ts";

export interface DialogueStep {
  /** The text to type first. A line end is added unless the text ends with one or with a control character. */
  readonly send?: string;
  /** The text or regular expression to wait for, in the readable output since the step began. */
  readonly expect?: string | { readonly regex: string };
  readonly timeout_ms?: number;
  /** The typed text is redacted in every output. */
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
  /** Time-out of steps without their own, ms. Default 15,000. */
  readonly timeoutMs?: number;
  /** Tries an expression on a text; throws BadExpression. Absent: a thread of this dialogue does. */
  readonly test?: (source: string, text: string) => Promise<boolean>;
}

/** Maximum characters of a step's output that an expression is tried on: an expected text is near the end. */
const window = 64 << 10;
/** Maximum characters of an expression. Compiling one of some 20 thousand can take all memory, which ends the process. */
const maxExpressionCharacters = 2_000;
/** A line of printable characters and its line end. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches control characters
const oneLine = /^[^\x00-\x1f\x7f]+\r$/;
/** Minimum time between two trials while output arrives, ms. */
const floodMs = 20;

/**
 * Types and waits, step by step. Ends at the first expected text that does not come: console_timeout with data.steps and data.output. Throws
 * node_not_running if the console ends, and cutOff() if the signal aborts. Throws bad_request for an invalid or slow expression, and for secrets of
 * more than 64 Ki characters. Types only the steps: a program that runs at the end is not interrupted.
 */
export async function runDialogue(stream: Duplex, steps: readonly DialogueStep[], options: DialogueOptions = {}): Promise<DialogueResult> {
  for (const [index, { expect }] of steps.entries()) if (typeof expect === "object") checkExpression(expect.regex, index);
  const secrets = secretsOf(steps);
  const own = options.test === undefined ? new Expressions() : undefined;
  const test = options.test ?? ((source: string, text: string) => own!.test(source, text));
  const seen = new ReadWindow(window);
  const console = new Transcript(stream, { window: seen });
  const done: RawStep[] = [];
  const shown = () => redactedResult(done, secrets);
  try {
    // The stream may hold output from before the first step, which is read first.
    await turn();
    console.clear();
    // The raw line of the cursor at the end of the last step.
    let cursor = "";
    for (const [index, step] of steps.entries()) {
      const started = performance.now();
      const timeoutMs = step.timeout_ms ?? options.timeoutMs ?? 15_000;
      const left = () => started + timeoutMs - performance.now();
      /** Output of earlier attempts, whose text was typed again. */
      let lost = "";
      const finish = (matched: boolean) => {
        cursor = console.rawLine;
        done.push({ matched, raw: lost + console.take(), duration_ms: Math.round(performance.now() - started) });
      };
      const change = async (ms: number): Promise<boolean> => {
        const aborted = options.signal?.aborted === true;
        if (!aborted && !console.ended) return left() > 0 && console.change(Math.min(ms, left()), options.signal);
        finish(false);
        if (aborted) throw cutOff(options.signal!, { ...shown() });
        throw new Failure("node_not_running", "the console ended: the node stopped, or its host closed it", { data: { ...shown() } });
      };
      if (step.send !== undefined) {
        const prompt = lastLine(cursor + console.tail);
        const onLost = (output: string) => {
          lost += output;
        };
        await type(console, typed(step.send), step.secret === true, { prompt, change, onLost });
      }
      while (!(await matches(step.expect, index, seen.text, test))) {
        if (left() <= 0 && !console.ended && options.signal?.aborted !== true) {
          finish(false);
          const data = { ...shown() };
          throw new Failure("console_timeout", `step ${index + 1}: the expected text did not appear within ${timeoutMs} ms`, { data });
        }
        if (console.length > window) await delay(Math.max(0, Math.min(floodMs, left())));
        await change(Number.POSITIVE_INFINITY);
      }
      finish(true);
    }
    return shown();
  } finally {
    console.close();
    await own?.close();
  }
}

interface RawStep extends Omit<StepResult, "output"> {
  readonly raw: string;
}

function secretsOf(steps: readonly DialogueStep[]): string[] {
  const secrets = steps.flatMap(({ send, secret }) => (secret === true && send !== undefined ? [send] : []));
  if (secrets.reduce((sum, { length }) => sum + length, 0) <= maxSecretCharacters) return secrets;
  throw badStep(
    "/steps",
    `the secrets of a dialogue may have ${maxSecretCharacters} characters together; type a longer text without "secret"`,
  );
}

/** Redacts before rendering, while a wrapped secret is still whole, and again after it, when cursor movements are applied. */
function redactedResult(done: readonly RawStep[], secrets: readonly string[]): DialogueResult {
  const raws = redact(
    done.map(({ raw }) => raw),
    secrets,
  );
  const outputs = redact(raws.map(renderText), secrets);
  const steps = done.map(({ matched, duration_ms }, index) => ({ matched, output: outputs[index]!, duration_ms }));
  return { steps, output: outputs.join("") };
}

function typed(text: string): string {
  const keys = text.replace(/\r\n|\n/g, "\r");
  const last = keys.charCodeAt(keys.length - 1);
  return keys === "" || !(last < 0x20 || last === 0x7f) ? `${keys}\r` : keys;
}

/** Types the keys. At a prompt the line end is sent after the echo, so that a line that the console lost can be typed again. */
async function type(console: Transcript, keys: string, secret: boolean, options: TypingOptions): Promise<void> {
  console.clear();
  if (secret || !oneLine.test(keys) || !looksLikePrompt(options.prompt ?? "")) {
    console.send(keys);
    return;
  }
  await typeText(console, keys.slice(0, -1), options);
  console.send("\r");
}

async function matches(
  expect: DialogueStep["expect"],
  index: number,
  output: string,
  test: (source: string, text: string) => Promise<boolean>,
): Promise<boolean> {
  if (expect === undefined) return true;
  if (typeof expect === "string") return output.includes(expect);
  try {
    return await test(expect.regex, output);
  } catch (error) {
    if (error instanceof BadExpression) throw badStep(`/steps/${index}/expect/regex`, error.message);
    throw error;
  }
}

function checkExpression(source: string, index: number): void {
  if (source.length > maxExpressionCharacters)
    throw badStep(
      `/steps/${index}/expect/regex`,
      `an expression may have ${maxExpressionCharacters} characters; this one has ${source.length}`,
    );
  try {
    new RegExp(source, "m");
  } catch (error) {
    throw badStep(`/steps/${index}/expect/regex`, (error as Error).message);
  }
}

/** The error has no cause: the engine's message repeats the expression, which may contain a secret, and causes are logged. */
function badStep(path: string, message: string): Failure {
  return new Failure("bad_request", message, { data: { problems: [{ path, message }] } });
}
