import { Failure } from "../../contract/errors.ts";
import type { Log } from "../common/log.ts";
import type { JobFinish, Store } from "../store/store.ts";

const againMs = 1_000;

/** Writes the ends of changes. An end that the store does not take is valid all the same, and is written as soon as the store accepts writes. */
export class JobEnds {
  readonly #store: Store;
  readonly #log: Log;
  /** By job id: not written yet. */
  readonly #ends = new Map<string, JobFinish>();
  #timer: NodeJS.Timeout | undefined;
  #closing = false;
  #writing: Promise<void> | undefined;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Returns the end of this job if it is not written yet. */
  unwritten(id: string): JobFinish | undefined {
    return this.#ends.get(id);
  }

  /** Ends a job whose row may be in the database although it did not answer. */
  later(id: string, end: JobFinish): void {
    this.#ends.set(id, end);
    this.#writeLater();
  }

  /** From now on an end that cannot be written is not tried again. */
  close(): void {
    this.#closing = true;
    clearTimeout(this.#timer);
  }

  /** Ends the change even if the store cannot write it, so that no caller waits forever. */
  async finish(id: string, end: JobFinish): Promise<void> {
    try {
      await this.#store.jobs.finish(id, end);
    } catch (error) {
      this.#log("error", "the end of a change could not be written; it is retried", { job: id, error: String(error) });
      this.#ends.set(id, end);
      this.#writeLater();
    }
  }

  #writeLater(): void {
    clearTimeout(this.#timer);
    if (this.#closing) return;
    this.#timer = setTimeout(() => void this.write(), againMs);
    this.#timer.unref();
  }

  /**
   * Writes the ends that wait, each once: readers of events would see the second write as another end. Ends that are still unwritten at shutdown look like
   * interrupted changes: the next start finishes them, which changes nothing on the host.
   */
  write(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #write(): Promise<void> {
    for (const [id, end] of this.#ends) {
      try {
        await this.#store.jobs.finish(id, end);
        this.#ends.delete(id);
      } catch (error) {
        if (error instanceof Failure && error.code === "lab_elsewhere") {
          this.#log("warn", "the end of a change was dropped: another service owns the lab", { job: id });
          this.#ends.delete(id);
          continue;
        }
        // Logged at the first failure.
        this.#writeLater();
        return;
      }
    }
  }
}
