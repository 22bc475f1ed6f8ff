import { Rendering } from "./terminal.ts";

/** The end of what a person would read of output that comes piece by piece. */
export class ReadWindow {
  readonly #most: number;
  #lines = "";
  #rendering: Rendering;

  /** @param most characters that are kept at least */
  constructor(most: number) {
    this.#most = most;
    this.#rendering = this.#fresh();
  }

  get text(): string {
    return this.#lines + this.#rendering.line;
  }

  push(piece: string): void {
    this.#rendering.push(piece);
    if (this.#lines.length > 2 * this.#most) this.#lines = this.#lines.slice(-this.#most);
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
