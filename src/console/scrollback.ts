/** Chunks kept before they are joined: many small ones would weigh more than their bytes. */
const mostChunks = 512;

/** The last bytes of a console, bounded. A snapshot that lost its beginning starts at a line or an escape sequence, never inside one. */
export class Scrollback {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #size = 0;
  #cut = false;

  /** @param limit bytes kept at most */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Keeps the bytes themselves, not a copy: they must not change afterwards. */
  push(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#size += bytes.length;
    while (this.#size - this.#chunks[0]!.length >= this.#limit) {
      this.#size -= this.#chunks.shift()!.length;
      this.#cut = true;
    }
    if (this.#chunks.length > mostChunks) this.#chunks = [Buffer.concat(this.#chunks)];
  }

  snapshot(): Buffer {
    const whole = Buffer.concat(this.#chunks);
    const kept = whole.subarray(Math.max(0, whole.length - this.#limit));
    return this.#cut || kept.length < whole.length ? kept.subarray(saneStart(kept)) : kept;
  }
}

/** Behind the first line end, or at the first escape sequence, whichever is first; else at a whole character. */
function saneStart(bytes: Buffer): number {
  const line = bytes.indexOf(0x0a) + 1;
  const sequence = bytes.indexOf(0x1b);
  if (line > 0 && (sequence === -1 || line <= sequence)) return line;
  if (sequence !== -1) return sequence;
  let start = 0;
  while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return start;
}
