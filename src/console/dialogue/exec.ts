import type { Duplex } from "node:stream";
import { Failure } from "../../contract/errors.ts";
import type { ConsoleTraits } from "../text/console-traits.ts";
import { cutOff } from "../text/cut-off.ts";
import { withoutPrompts } from "../text/output.ts";
import { asksLogin, asksPassword, isContinuation, looksLikePrompt, pagerKey, samePlace, withoutCarets } from "../text/prompt.ts";
import { lastLine, renderText } from "../text/terminal.ts";
import { Transcript } from "../text/transcript.ts";
import { typeText } from "./type-text.ts";

export interface ExecOptions {
  /** One command, or several lines that are sent one after the other. */
  readonly command: string;
  readonly timeoutMs: number;
  readonly traits?: ConsoleTraits;
  readonly signal?: AbortSignal | undefined;
  /** Holds back the keys of other users until the returned function is called, while a command's line is typed. */
  readonly hold?: () => () => void;
}

export interface ExecResult {
  /** The readable output, without echo, prompt and last line end. */
  readonly output: string;
  readonly durationMs: number;
  /** The output was longer than 8 Mi characters, and the rest is missing. */
  readonly truncated: boolean;
}

/** The sequences with which a pager erases its own line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches control characters
const wiped = /^(?:\x08+ +\x08+|\r +\r)/;

/** How long the console must be quiet, in ms, before a line counts as … */
const quiet = { prompt: 25, place: 60, pager: 60, looks: 400, noEcho: 800, anything: 1500 } as const;

/** Interval at which the empty line that asks for a prompt is sent again, ms: a booting node may have lost it. */
const nudgeMs = 2_000;
/** A line longer than this that is not echoed whole was cut by the console; no editor scrolls that far sideways. */
const longLine = 1_000;
/** Maximum bytes of one line. A terminal in cooked mode drops bytes after 4,095 and runs the rest. */
const maxLineBytes = 4_000;
/** Maximum login attempts at one console. */
const maxLogins = 2;

const interrupt = "\x03";
const killLine = "\x15";

/**
 * Runs a command at a console's prompt and returns when the prompt is back. The prompt is detected from the answers to two empty lines. A line that
 * another user has half typed is erased first, not run. A command that does not end in time is interrupted.
 *
 * Throws console_timeout with data.output, node_not_running if the console ends, cutOff() if the signal aborts, and bad_request for a line that the
 * console does not take whole.
 */
export async function execCommand(stream: Duplex, options: ExecOptions): Promise<ExecResult> {
  const started = performance.now();
  const console = new ConsoleExec(stream, options, started + options.timeoutMs);
  try {
    const output = await console.run(options.command.split(/\r\n|\r|\n/));
    return { output, durationMs: Math.round(performance.now() - started), truncated: console.truncated };
  } finally {
    console.close();
  }
}

interface Returned {
  readonly raw: string;
  readonly prompt: string;
  /** Empty lines that were sent to check whether a line is a prompt. */
  readonly emptyLines: number;
}

class ConsoleExec {
  readonly #console: Transcript;
  readonly #options: ExecOptions;
  readonly #deadline: number;
  readonly #given: RegExp | undefined;
  readonly #pager: { readonly shown: RegExp; readonly key: string } | undefined;
  readonly #outputs: string[] = [];
  /** Earlier pages of the running command's output, without the pager's own line. */
  #pages: string[] = [];
  /** Those of the pages that begin with the echo of an empty line. */
  readonly #afterEmpty = new Set<number>();
  /** The running command was echoed, and therefore also its line end. */
  #echoed = false;
  #logins = 0;
  truncated = false;

  constructor(stream: Duplex, options: ExecOptions, deadline: number) {
    const { prompt, pager } = options.traits ?? {};
    this.#console = new Transcript(stream);
    this.#options = options;
    this.#deadline = deadline;
    this.#given = prompt === undefined ? undefined : new RegExp(prompt);
    this.#pager = pager === undefined ? undefined : { shown: new RegExp(pager.pattern), key: pager.key };
  }

  async run(lines: readonly string[]): Promise<string> {
    const tooLong = lines.find((line) => Buffer.byteLength(line) > maxLineBytes);
    if (tooLong !== undefined) throw lineTooLong(tooLong);
    const release = this.#options.hold?.();
    let home: string;
    try {
      home = await this.#learn();
      await this.#type(lines[0] ?? "", home);
    } finally {
      release?.();
    }
    const prompts = [home, home];
    for (const [index, line] of lines.entries()) {
      if (index > 0) await this.#typeAlone(line, prompts[1] ?? home);
      this.#pages = [];
      this.#afterEmpty.clear();
      const { raw, prompt, emptyLines } = await this.#promptBack(prompts, lines.length > 1);
      this.truncated ||= this.#console.truncated;
      this.#outputs.push(withoutPrompts(this.#readable(raw), prompt, emptyLines));
      prompts[1] = prompt;
    }
    this.#echoed = false;
    return this.#outputs.filter((output) => output !== "").join("\n");
  }

  close(): void {
    this.#console.close();
  }

  /** Sends empty lines until two of them are answered with the same line. */
  async #learn(): Promise<string> {
    this.#console.send(`${killLine}\r`);
    let candidate: string | undefined;
    let answers = 0;
    let again = 0;
    for (let round = 0; ; round += 1) {
      const line = await this.#settled(candidate);
      if (asksLogin(line)) {
        await this.#login(line);
        candidate = undefined;
        continue;
      }
      const key = this.#pagerKey(line);
      const answered = round > 0 && line.trim() !== "" && (line === candidate || this.#given?.test(line) === true);
      // After a banner or the output of a startup script, the prompt may be the answer to an earlier queued line end, so it does not count.
      answers = answered ? answers + 1 : isBare(this.#console.text(), line) ? 1 : 0;
      if (answers > 1 && this.#isPrompt(line)) return line;
      // A line that does not look like a prompt must be a whole line, twice: a booting node also prints dots and words.
      if (answered && this.#console.tail.includes("\n") && ++again > 1) return line;
      if (!answered) again = 0;
      candidate = line;
      this.#console.clear();
      if (key !== undefined && !this.#isPrompt(line)) this.#console.send(key === "\r" ? "\r" : "q");
      else if (isContinuation(line) && round % 2 === 1) this.#console.send(interrupt);
      else this.#console.send("\r");
    }
  }

  /** Returns the line of the cursor, when no more output comes. */
  async #settled(candidate: string | undefined): Promise<string> {
    let nudged = performance.now();
    for (;;) {
      const line = withoutCarets(lastLine(this.#console.tail));
      const again = line === candidate && this.#console.tail.includes("\n");
      const wait =
        again && this.#isPrompt(line)
          ? quiet.prompt
          : this.#isPrompt(line) || this.#pagerKey(line) !== undefined
            ? quiet.place
            : quiet.looks;
      if (!(await this.#change(wait, "the console gave no prompt")) && line.trim() !== "") return line;
      if (performance.now() - nudged > nudgeMs) {
        nudged = performance.now();
        this.#console.send("\r");
      }
    }
  }

  /** Answers one question of a login with the template's account. */
  async #login(question: string): Promise<void> {
    const { login } = this.#options.traits ?? {};
    if (login === undefined) throw this.#timeout("the console asks for a login, and the template has none; log in by a dialogue (run)");
    const password = asksPassword(question);
    if (!password && this.#logins++ >= maxLogins) throw this.#timeout("the console refuses the template's login");
    this.#console.clear();
    this.#console.send(`${password ? (login.password ?? "") : login.username}\r`);
    // The question stays the last line until new output comes.
    await this.#change(quiet.anything, "the login was not answered");
  }

  async #typeAlone(line: string, prompt: string): Promise<void> {
    const release = this.#options.hold?.();
    try {
      await this.#type(line, prompt);
    } finally {
      release?.();
    }
  }

  /** Types the command without its line end and waits for the echo: then the next line end is the command's. */
  async #type(command: string, prompt: string): Promise<void> {
    this.#echoed = false;
    const change = (ms: number) => this.#change(ms, "the prompt did not come back");
    const { shown, silent } = await typeText(this.#console, command, { prompt, change });
    if (!shown && command.length >= longLine) {
      this.#console.send(killLine);
      throw lineTooLong(command);
    }
    this.#console.clear();
    this.#echoed = command === "" || !silent;
    this.#console.send("\r");
  }

  /** The output up to and including the prompt. `prompts`: the first and the last known prompt. */
  async #promptBack(prompts: readonly string[], several: boolean): Promise<Returned> {
    let begun = false;
    let confirming: string | undefined;
    let emptyLines = 0;
    for (;;) {
      const line = lastLine(this.#console.tail);
      const rawLine = this.#console.rawLine;
      begun ||= this.#echoed && this.#console.tail.includes("\n");
      const known =
        this.#given?.test(line) === true ||
        prompts.some((prompt) => samePlace(prompt, line)) ||
        (several && isContinuation(line) && line !== "");
      const key = known ? undefined : this.#pagerKey(line);
      const asks = !known && asksLogin(line);
      const tail = known ? undefined : prompts.find((prompt) => prompt.length > 1 && line.endsWith(prompt));
      const maybe = tail ?? (looksLikePrompt(line) ? line : undefined);
      // Another user typed ahead of the prompt.
      const ahead = !known && prompts.some((prompt) => prompt.length > 1 && line.startsWith(prompt));
      const wait = !begun
        ? quiet.noEcho
        : known
          ? prompts.includes(line)
            ? quiet.prompt
            : quiet.place
          : key !== undefined
            ? quiet.pager
            : maybe !== undefined
              ? quiet.looks
              : quiet.anything;
      if (await this.#change(wait, "the prompt did not come back")) continue;
      // Only a prompt answers an empty line with itself and nothing else.
      if (confirming !== undefined && this.#console.length < 4096 && renderText(this.#console.text()).trim() === confirming.trim()) {
        return { raw: this.#paged(""), prompt: confirming, emptyLines };
      }
      if (known || (ahead && begun)) return { raw: this.#paged(this.#console.text()), prompt: line, emptyLines };
      if (key !== undefined) {
        const page = this.#console.take();
        this.#pages.push(page.slice(0, page.length - rawLine.length));
        this.#console.send(key);
      } else if (asks && begun) {
        await this.#answerLogin(line);
      } else if (maybe !== undefined && confirming !== maybe) {
        confirming = maybe;
        emptyLines += 1;
        this.#pages.push(this.#console.take());
        this.#afterEmpty.add(this.#pages.length);
        this.#console.send("\r");
      }
    }
  }

  /** Logs in again to a node that restarted. A command that asks for a password gets none. */
  async #answerLogin(line: string): Promise<void> {
    if (this.#options.traits?.login === undefined || (asksPassword(line) && this.#logins === 0)) {
      const failure = this.#timeout("the command asks for a login or a password; answer it by a dialogue (run)");
      this.#console.send(interrupt);
      throw failure;
    }
    this.#pages.push(this.#console.take());
    await this.#login(line);
  }

  #paged(last: string): string {
    const pages = [...this.#pages, last];
    return pages.map((page, index) => page.replace(this.#afterEmpty.has(index) ? /^\r?\n/ : wiped, "")).join("");
  }

  /** Removes the rest of the command's own line. */
  #readable(raw: string): string {
    return renderText(this.#echoed ? raw.slice(raw.indexOf("\n") + 1) : raw);
  }

  #isPrompt(line: string): boolean {
    return this.#given?.test(line) ?? looksLikePrompt(line);
  }

  #pagerKey(line: string): string | undefined {
    return this.#pager?.shown.test(line) === true ? this.#pager.key : pagerKey(line, this.#console.rawLine);
  }

  /** Waits for a change, at most `ms`. After the deadline, or if the signal aborts, interrupts the running program and throws. */
  async #change(ms: number, late: string): Promise<boolean> {
    const { signal, timeoutMs } = this.#options;
    const left = this.#deadline - performance.now();
    const changed = left > 0 && (await this.#console.change(Math.min(ms, left), signal));
    if (this.#console.ended) {
      const data = { output: this.#partial() };
      throw new Failure("node_not_running", "the console ended: the node stopped, or its host closed it", { data });
    }
    const aborted = signal?.aborted === true;
    if (!aborted && performance.now() < this.#deadline) return changed;
    const failure = aborted ? cutOff(signal, { output: this.#partial() }) : this.#timeout(`${late} within ${timeoutMs} ms`);
    this.#console.send(interrupt);
    throw failure;
  }

  #timeout(message: string): Failure {
    return new Failure("console_timeout", message, { data: { output: this.#partial() } });
  }

  #partial(): string {
    const running = this.#readable(this.#paged(this.#console.text()));
    return [...this.#outputs, running].filter((output) => output !== "").join("\n");
  }
}

/** Whether the output is only this line, after line ends. */
function isBare(output: string, line: string): boolean {
  return line.trim() !== "" && renderText(output).trim() === line.trim();
}

function lineTooLong(line: string): Failure {
  const message = `the console does not take a line of ${line.length} characters; send shorter lines`;
  return new Failure("bad_request", message, { data: { problems: [{ path: "/command", message }] } });
}
