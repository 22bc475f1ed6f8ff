const leastBytes = 4 << 10;

/** The last bytes of a console, bounded. A snapshot that lost its beginning starts at a line or an escape sequence, never inside one. */
export class Scrollback {
  readonly #limit: number;
  /** A ring, once it is as large as it may be. */
  #memory = Buffer.alloc(0);
  /** Where the next byte goes. */
  #at = 0;
  #size = 0;
  #cut = false;

  /** @param limit bytes kept at most */
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
    const memory = Buffer.allocUnsafeSlow(Math.min(this.#limit, Math.max(leastBytes, 2 * size)));
    this.#memory.copy(memory, 0, 0, this.#size);
    this.#memory = memory;
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
