import { Rendering } from "./terminal.ts";

/** Keeps the end of the readable output of a stream. */
export class ReadWindow {
  readonly #minChars: number;
  #lines = "";
  #rendering: Rendering;

  /** @param minChars characters that are kept at least */
  constructor(minChars: number) {
    this.#minChars = minChars;
    this.#rendering = this.#fresh();
  }

  get text(): string {
    return this.#lines + this.#rendering.line;
  }

  push(piece: string): void {
    this.#rendering.push(piece);
    if (this.#lines.length > 2 * this.#minChars) this.#lines = this.#lines.slice(-this.#minChars);
  }

  clear(): void {
    this.#lines = "";
    this.#rendering = this.#fresh();
  }

  #fresh(): Rendering {
    return new Rendering((line) => {
      this.#lines += `${line}\n`;
    });
  }
}
