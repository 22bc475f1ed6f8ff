import type { Duplex } from "node:stream";
import { Failure } from "../contract/errors.ts";
import { isEchoed } from "./echo.ts";
import { asksLogin, isContinuation, looksLikePrompt, pagerKey, samePlace } from "./prompt.ts";
import { lastLine, renderText } from "./terminal.ts";
import { Transcript } from "./transcript.ts";

export interface ExecOptions {
  /** One command, or several lines that are sent one after the other. */
  readonly command: string;
  readonly timeoutMs: number;
  /** Regular expression that the prompt's line matches, where learning it is not enough. */
  readonly prompt?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ExecResult {
  /** What a person would read, without echo and prompt, without the last line end. */
  readonly output: string;
  readonly durationMs: number;
  /** The output was longer than what is kept (8 Mi characters); the rest is left out. */
  readonly truncated: boolean;
}

/** How a pager wipes its own line away. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are control characters
const wiped = /^(?:\x08+ +\x08+|\r +\r)/;

/** How long it must be quiet, in ms, before a line is believed to be … */
const quiet = { prompt: 25, place: 60, pager: 60, looks: 400, noEcho: 800, anything: 1500 } as const;

const interrupt = "\x03";
const killLine = "\x15";

/**
 * Runs a command at the prompt of a console and answers when the prompt is back. The prompt is learned from what two empty lines
 * give; a half-typed line of somebody else is killed first, not run. A command that does not come back is interrupted.
 *
 * Throws console_timeout with data.output, node_not_running when the console ends.
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

class ConsoleExec {
  readonly #console: Transcript;
  readonly #options: ExecOptions;
  readonly #deadline: number;
  readonly #given: RegExp | undefined;
  readonly #outputs: string[] = [];
  /** Pages of the running command that a pager has let go by, without the pager's own line. */
  #pages: string[] = [];
  /** The running command was echoed, so that its line end is too. */
  #echoed = false;
  truncated = false;

  constructor(stream: Duplex, options: ExecOptions, deadline: number) {
    this.#console = new Transcript(stream);
    this.#options = options;
    this.#deadline = deadline;
    this.#given = options.prompt === undefined ? undefined : new RegExp(options.prompt);
  }

  async run(lines: readonly string[]): Promise<string> {
    const home = await this.#learn();
    const prompts = [home, home];
    for (const line of lines) {
      this.#pages = [];
      await this.#type(line);
      const { raw, prompt } = await this.#promptBack(prompts, lines.length > 1);
      this.truncated ||= this.#console.truncated;
      this.#outputs.push(this.#readable(raw).slice(0, -prompt.length).replace(/\n+$/, ""));
      prompts[1] = prompt;
    }
    this.#echoed = false;
    return this.#outputs.filter((output) => output !== "").join("\n");
  }

  close(): void {
    this.#console.close();
  }

  /** Empty lines until the same line stands there twice. */
  async #learn(): Promise<string> {
    this.#console.send(`${killLine}\r`);
    let candidate: string | undefined;
    for (let round = 0; ; round += 1) {
      const line = await this.#settled(candidate);
      const key = pagerKey(line, this.#console.rawLine);
      if (asksLogin(line)) throw this.#timeout("the console asks for a login; there is no prompt to run a command at");
      if (line === candidate && round > 0 && line.trim() !== "") return line;
      candidate = line;
      this.#console.clear();
      if (key !== undefined && !this.#isPrompt(line)) this.#console.send(key === "\r" ? "\r" : "q");
      else if (isContinuation(line) && round % 2 === 1) this.#console.send(interrupt);
      else this.#console.send("\r");
    }
  }

  /** The line the cursor stands on, once nothing more comes. */
  async #settled(candidate: string | undefined): Promise<string> {
    let nudged = performance.now();
    for (;;) {
      const line = lastLine(this.#console.tail);
      const again = line === candidate && this.#console.tail.includes("\n");
      const wait =
        again && this.#isPrompt(line)
          ? quiet.prompt
          : this.#isPrompt(line) || pagerKey(line, this.#console.rawLine) !== undefined
            ? quiet.place
            : quiet.looks;
      if (!(await this.#change(wait, "the console gave no prompt")) && line.trim() !== "") return line;
      // A node that is booting may have lost the first empty line.
      if (performance.now() - nudged > 2_000) {
        nudged = performance.now();
        this.#console.send("\r");
      }
    }
  }

  /** The command without its line end, until it stands there: however an editor drew it, the next line end is the command's. */
  async #type(command: string): Promise<void> {
    this.#echoed = false;
    this.#console.clear();
    this.#console.send(command);
    for (;;) {
      const shown = isEchoed(this.#console.text(), command);
      if (!(await this.#change(shown ? quiet.prompt : quiet.noEcho / 4, "the prompt did not come back"))) break;
    }
    const text = this.#console.text();
    this.#console.clear();
    this.#echoed = command === "" || text !== "";
    this.#console.send("\r");
  }

  /** What came back up to and with the prompt. `prompts`: those known, the first and the last seen. */
  async #promptBack(prompts: readonly string[], several: boolean): Promise<{ readonly raw: string; readonly prompt: string }> {
    let begun = false;
    let confirming: string | undefined;
    for (;;) {
      const line = lastLine(this.#console.tail);
      const rawLine = this.#console.rawLine;
      begun ||= this.#echoed && this.#console.tail.includes("\n");
      const known =
        this.#given?.test(line) === true ||
        prompts.some((prompt) => samePlace(prompt, line)) ||
        (several && isContinuation(line) && line !== "");
      const key = known ? undefined : pagerKey(line, rawLine);
      const tail = known ? undefined : prompts.find((prompt) => prompt.length > 1 && line.endsWith(prompt));
      const maybe = tail ?? (looksLikePrompt(line) ? line : undefined);
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
      if (confirming !== undefined && renderText(this.#console.text()).trim() === confirming.trim()) {
        return { raw: this.#paged(""), prompt: confirming };
      }
      if (known) return { raw: this.#paged(this.#console.text()), prompt: line };
      if (key !== undefined) {
        const page = this.#console.take();
        this.#pages.push(page.slice(0, page.length - rawLine.length));
        this.#console.send(key);
      } else if (maybe !== undefined && confirming !== maybe) {
        confirming = maybe;
        this.#pages.push(this.#console.take());
        this.#console.send("\r");
      }
    }
  }

  #paged(last: string): string {
    return [...this.#pages, last].map((page) => page.replace(wiped, "")).join("");
  }

  /** Without the rest of the command's own line. */
  #readable(raw: string): string {
    return renderText(this.#echoed ? raw.slice(raw.indexOf("\n") + 1) : raw);
  }

  #isPrompt(line: string): boolean {
    return this.#given?.test(line) ?? looksLikePrompt(line);
  }

  /** Waits for a change, `ms` at most; over the deadline it interrupts what runs and throws. */
  async #change(ms: number, late: string): Promise<boolean> {
    const left = this.#deadline - performance.now();
    const changed = left > 0 && (await this.#console.change(Math.min(ms, left), this.#options.signal));
    if (this.#console.ended)
      throw new Failure("node_not_running", "the console ended: the node stopped", { data: { output: this.#partial() } });
    if (performance.now() < this.#deadline && this.#options.signal?.aborted !== true) return changed;
    const failure = this.#timeout(`${late} within ${this.#options.timeoutMs} ms`);
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
