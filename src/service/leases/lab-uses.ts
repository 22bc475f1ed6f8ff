import type { LabRecord } from "../store/store.ts";

/** When labs were last used by users: in memory, until they are written to the records of the labs. */
export class LabUses {
  readonly #now: () => number;
  readonly #lastUses = new Map<string, number>();
  /** Calls that use a lab and have not ended. */
  readonly #running = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The lab is used at this moment. */
  note(path: string): void {
    this.#lastUses.set(path, this.#now());
  }

  /** A use begins. Returns the function that ends it. */
  begin(path: string): () => void {
    this.note(path);
    this.#running.set(path, (this.#running.get(path) ?? 0) + 1);
    return () => {
      const left = (this.#running.get(path) ?? 1) - 1;
      if (left > 0) this.#running.set(path, left);
      else this.#running.delete(path);
      this.note(path);
    };
  }

  /** Returns the last use of a lab; undefined: it was never used. */
  of({ path, usedAt }: Pick<LabRecord, "path" | "usedAt">): number | undefined {
    if (this.#running.has(path)) return this.#now();
    const noted = this.#lastUses.get(path);
    // A clock that was set back makes uses in the future.
    return noted === undefined && usedAt === undefined ? undefined : Math.min(Math.max(noted ?? 0, usedAt ?? 0), this.#now());
  }

  /** Another lab may be at this path from now on. */
  forget(path: string): void {
    this.#lastUses.delete(path);
  }
}
