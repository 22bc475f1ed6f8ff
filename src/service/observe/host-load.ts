import { setTimeout as wait } from "node:timers/promises";
import { Failure } from "../../contract/errors.ts";
import type { HostLoadData } from "../../contract/schemas/host-load.ts";
import type { Host, HostLoad, HostSession } from "../../hosts/host.ts";
import { unsupported } from "../common/capabilities.ts";
import { type Clock, timeText } from "../common/clock.ts";

/** A host measures for a second or more: answers are shared for this long, ms. */
const freshMs = 5_000;

interface Seen {
  readonly load: HostLoad;
  readonly at: number;
}

/** The load of the host. Concurrent callers share one read. */
export class HostLoads {
  readonly #host: Pick<Host, "url">;
  readonly #clock: Clock;
  #seen: Seen | undefined;
  #reading: Promise<Seen> | undefined;

  constructor(host: Pick<Host, "url">, clock: Clock) {
    this.#host = host;
    this.#clock = clock;
  }

  /** Throws unsupported if the host does not report its load. */
  async read(session: HostSession): Promise<HostLoadData> {
    const { features } = await session.capabilities();
    if (!features.hostLoad) throw unsupported("hostLoad");
    return this.#dataOf(await this.#fresh(session));
  }

  /** Reads the load for lastSeen, if the host reports one and answers within patienceMs. A failure leaves the load unknown. */
  async refresh(open: () => Promise<HostSession>, patienceMs: number): Promise<void> {
    const patience = new AbortController();
    const read = open()
      .then((session) => (session.load === undefined ? undefined : this.#fresh(session)))
      .catch((error: unknown) => {
        if (!(error instanceof Failure)) throw error;
      });
    try {
      await Promise.race([read, wait(patienceMs, undefined, { signal: patience.signal, ref: false })]);
    } finally {
      patience.abort();
    }
  }

  /** Returns the last read load if it is at most maxAgeMs old. */
  lastSeen(maxAgeMs: number): Seen | undefined {
    const seen = this.#seen;
    return seen !== undefined && this.#clock.now() - seen.at <= maxAgeMs ? seen : undefined;
  }

  async #fresh(session: HostSession): Promise<Seen> {
    const seen = this.lastSeen(freshMs);
    if (seen !== undefined) return seen;
    this.#reading ??= this.#ask(session).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #ask(session: HostSession): Promise<Seen> {
    if (session.load === undefined) throw unsupported("hostLoad");
    const load = await session.load();
    this.#seen = { load, at: this.#clock.now() };
    return this.#seen;
  }

  #dataOf({ load, at }: Seen): HostLoadData {
    const { version, swapPercent, cpus, memoryBytes, running } = load;
    return {
      host: this.#host.url,
      ...(version !== undefined && { version }),
      taken_at: timeText(at),
      cpu_percent: load.cpuPercent,
      memory_percent: load.memoryPercent,
      disk_percent: load.diskPercent,
      ...(swapPercent !== undefined && { swap_percent: swapPercent }),
      ...(cpus !== undefined && { cpus }),
      ...(memoryBytes !== undefined && { memory_bytes: memoryBytes }),
      nodes: Object.entries(running)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([type, count]) => ({ type, running: count })),
    };
  }
}
