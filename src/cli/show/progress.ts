import { duration } from "./table.ts";
import type { Terminal } from "./terminal.ts";
import { visible, visibleCell } from "./visible.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** One line on stderr that says what runs, how far it is and how long it took; only on a terminal. */
export class Progress implements Disposable {
  readonly #terminal: Terminal;
  readonly #begin = Date.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #text: string;
  #frame = 0;

  constructor(terminal: Terminal, text: string, options: { readonly quiet: boolean }) {
    this.#terminal = terminal;
    this.#text = text;
    if (options.quiet || terminal.stderr.isTTY !== true) return;
    this.#timer = setInterval(() => this.#draw(), 100);
    this.#draw();
  }

  say(text: string): void {
    this.#text = text;
  }

  /** Takes the line away. */
  [Symbol.dispose](): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#terminal.stderr.write("\r\u001b[K");
  }

  #draw(): void {
    const frame = frames[this.#frame++ % frames.length] ?? "";
    const seconds = Math.floor((Date.now() - this.#begin) / 1000);
    const line = `${frame} ${visibleCell(visible(this.#text))}${seconds === 0 ? "" : ` (${duration(seconds * 1000)})`}`;
    this.#terminal.stderr.write(`\r${line.slice(0, Math.max(20, (this.#terminal.stderr.columns || 80) - 1))}\u001b[K`);
  }
}
