import { duration } from "./table.ts";
import type { Terminal } from "./terminal.ts";
import { visible, visibleCell } from "./visible.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** A line on stderr that shows the running task, its progress and its duration. Only on a terminal. */
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

  /** Whether somebody can see it. */
  get visible(): boolean {
    return this.#timer !== undefined;
  }

  update(text: string): void {
    this.#text = text;
  }

  /** Removes the line. */
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
