/** Bytes of output that all programs together pass on in one turn of the event loop. Between two turns the service answers other calls. */
const turnBytes = 64 << 10;

interface Waiting {
  readonly bytes: number;
  readonly resume: () => void;
}

/**
 * Divides the output of programs into turns of the event loop, so that programs that print without end leave time for other calls. Users have equal
 * shares, however many programs each of them runs.
 */
export class OutputTurns {
  #left = turnBytes;
  #isScheduled = false;
  /** By user. The first user's program is the next. */
  readonly #waiting = new Map<string, Waiting[]>();

  /** Counts output that was passed on. Returns a promise if the program must wait for a later turn before more is taken from it. */
  count(user: string, bytes: number): Promise<void> | undefined {
    this.#schedule();
    if (this.#left > 0 && this.#waiting.size === 0) {
      this.#left -= bytes;
      return undefined;
    }
    return new Promise((resume) => {
      const programs = this.#waiting.get(user) ?? [];
      programs.push({ bytes, resume });
      this.#waiting.set(user, programs);
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#begin());
  }

  #begin(): void {
    this.#isScheduled = false;
    this.#left = Math.min(turnBytes, this.#left + turnBytes);
    while (this.#left > 0) {
      const [first] = this.#waiting;
      if (first === undefined) break;
      const [user, programs] = first;
      const program = programs.shift();
      this.#waiting.delete(user);
      // The user's next program waits behind those of the other users.
      if (programs.length > 0) this.#waiting.set(user, programs);
      if (program === undefined) continue;
      this.#left -= program.bytes;
      program.resume();
    }
    if (this.#waiting.size > 0 || this.#left < 0) this.#schedule();
  }
}
