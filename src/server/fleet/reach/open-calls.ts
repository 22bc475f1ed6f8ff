import type { MachineRow } from "../../../service/store/machines.ts";

type Machine = Pick<MachineRow, "number" | "name" | "url" | "seenAt" | "facts">;

export interface OpenCallsOptions {
  /** Asks the machine for a sign of life on a connection of its own. Rejects if there is none. */
  readonly probe: (machine: Machine) => Promise<unknown>;
  /** Time until a machine with open calls is asked, and between two successful probes, ms. Default 3,000. */
  readonly everyMs?: number;
  /** Time from a failed probe to the next one, ms. Default 1,000. */
  readonly againMs?: number;
}

/** A machine with open calls. */
interface Watched {
  readonly ends: Set<(cause: Error) => void>;
  timer: NodeJS.Timeout;
}

/** Failed probes, one after the other, after which a machine is lost. */
const maxFailed = 2;

/**
 * The calls and streams that are open to other machines. A machine that loses its power, is paused or is cut off closes no connection: without probes,
 * its calls would wait until TCP gives up, and its streams for ever.
 */
export class OpenCalls {
  readonly #options: Required<OpenCallsOptions>;
  readonly #watched = new Map<number, Watched>();

  constructor({ probe, everyMs = 3_000, againMs = 1_000 }: OpenCallsOptions) {
    this.#options = { probe, everyMs, againMs };
  }

  /**
   * Adds an open call, which `end` cuts off if its machine is lost.
   * @returns a function that removes it
   */
  add(machine: Machine, end: (cause: Error) => void): () => void {
    const known = this.#watched.get(machine.number);
    const watched = known ?? { ends: new Set(), timer: this.#later(machine, 0, this.#options.everyMs) };
    if (known === undefined) this.#watched.set(machine.number, watched);
    watched.ends.add(end);
    return () => {
      watched.ends.delete(end);
      if (watched.ends.size === 0) this.#forget(machine.number, watched);
    };
  }

  close(): void {
    for (const [number, watched] of this.#watched) this.#forget(number, watched);
  }

  #forget(number: number, watched: Watched): void {
    clearTimeout(watched.timer);
    if (this.#watched.get(number) === watched) this.#watched.delete(number);
  }

  #later(machine: Machine, failed: number, ms: number): NodeJS.Timeout {
    return setTimeout(() => void this.#look(machine, failed), ms).unref();
  }

  async #look(machine: Machine, failedBefore: number): Promise<void> {
    const watched = this.#watched.get(machine.number);
    const { probe, everyMs, againMs } = this.#options;
    const failed = await probe(machine).then(
      () => 0,
      () => failedBefore + 1,
    );
    // All its calls have ended meanwhile.
    if (watched === undefined || this.#watched.get(machine.number) !== watched) return;
    if (failed < maxFailed) {
      watched.timer = this.#later(machine, failed, failed === 0 ? everyMs : againMs);
      return;
    }
    this.#forget(machine.number, watched);
    for (const end of watched.ends) end(new Error(`${maxFailed} probes of the machine ${machine.name} had no answer`));
  }
}
