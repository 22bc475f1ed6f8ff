/** The last bytes of a console, bounded. A snapshot that lost its beginning starts at a line, never inside an escape sequence. */
export class Scrollback {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #size = 0;
  #cut = false;

  /** @param limit bytes kept at most */
  constructor(limit: number) {
    this.#limit = limit;
  }

  push(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#size += bytes.length;
    // Compacting only at twice the limit makes each byte move at most once.
    if (this.#size > 2 * this.#limit) this.#compact();
  }

  snapshot(): Buffer {
    if (this.#size > this.#limit || this.#chunks.length > 1) this.#compact();
    const whole = this.#chunks[0] ?? Buffer.alloc(0);
    if (!this.#cut) return whole;
    const line = whole.indexOf(0x0a);
    return line === -1 ? whole : whole.subarray(line + 1);
  }

  #compact(): void {
    const whole = Buffer.concat(this.#chunks);
    const kept = whole.subarray(Math.max(0, whole.length - this.#limit));
    if (kept.length < whole.length) this.#cut = true;
    // A copy, so that the bytes that fell out are really freed.
    this.#chunks = [Buffer.from(kept)];
    this.#size = kept.length;
  }
}
