const minBytes = 4 << 10;

/** The last bytes of a console, limited. A snapshot that lost its beginning starts at a line or an escape sequence, never inside one. */
export class Scrollback {
  readonly #limit: number;
  /** A ring buffer, once it has its full size. */
  #memory = Buffer.alloc(0);
  /** Index of the next byte. */
  #at = 0;
  #size = 0;
  #cut = false;

  /** @param limit maximum bytes */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Keeps a copy of the bytes. */
  push(bytes: Buffer): void {
    this.#grow(this.#size + bytes.length);
    this.#cut ||= this.#size + bytes.length > this.#limit;
    const kept = bytes.subarray(Math.max(0, bytes.length - this.#limit));
    const first = kept.copy(this.#memory, this.#at);
    kept.copy(this.#memory, 0, first);
    this.#at = first < kept.length ? kept.length - first : (this.#at + first) % this.#limit;
    this.#size = Math.min(this.#limit, this.#size + kept.length);
  }

  snapshot(): Buffer {
    const whole = this.#size === this.#limit;
    const kept = whole
      ? Buffer.concat([this.#memory.subarray(this.#at), this.#memory.subarray(0, this.#at)])
      : Buffer.from(this.#memory.subarray(0, this.#size));
    return this.#cut ? kept.subarray(saneStart(kept)) : kept;
  }

  #grow(size: number): void {
    if (this.#memory.length >= Math.min(size, this.#limit)) return;
    const memory = Buffer.allocUnsafeSlow(Math.min(this.#limit, Math.max(minBytes, 2 * size)));
    this.#memory.copy(memory, 0, 0, this.#size);
    this.#memory = memory;
  }
}

/** Returns the first of two indices: behind the first line end, and of the first escape sequence. Without both, returns the start of a whole character. */
function saneStart(bytes: Buffer): number {
  const line = bytes.indexOf(0x0a) + 1;
  const sequence = bytes.indexOf(0x1b);
  if (line > 0 && (sequence === -1 || line <= sequence)) return line;
  if (sequence !== -1) return sequence;
  let start = 0;
  while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return start;
}
