const width = 20;

/** The text of a copy's progress: a bar if the size is known, the bytes and their rate. */
export class CopyProgress {
  readonly #title: string;
  readonly #expected: number | undefined;
  readonly #now: () => number;
  readonly #began: number;
  #bytes = 0;

  /** @param expected bytes of all copies, if known @param now milliseconds */
  constructor(title: string, expected: number | undefined, now: () => number = () => performance.now()) {
    this.#title = title;
    this.#expected = expected;
    this.#now = now;
    this.#began = now();
  }

  /** Counts bytes and returns the text. */
  add(count: number): string {
    this.#bytes += count;
    const rate = this.#bytes / Math.max(1, this.#now() - this.#began) / 1000;
    return `${this.#title}: ${this.#bar()}${(this.#bytes / 1e6).toFixed(1)} MB, ${rate.toFixed(1)} MB/s`;
  }

  #bar(): string {
    if (this.#expected === undefined || this.#expected === 0) return "";
    // Heads of the archive count too, so the end is reached before the last byte.
    const part = Math.min(1, this.#bytes / this.#expected);
    const full = Math.floor(part * width);
    return `[${"#".repeat(full)}${".".repeat(width - full)}] ${String(Math.floor(part * 100)).padStart(3)} %, `;
  }
}
