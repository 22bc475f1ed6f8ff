import { Failure } from "../contract/errors.ts";
import type { ObservedLab } from "../engine/observed.ts";
import type { HostSession, LiveStatus } from "../hosts/host.ts";
import type { Clock } from "./clock.ts";
import { RecentMap } from "./recent-map.ts";

interface Kept<T> {
  readonly at: number;
  readonly value: Promise<T>;
  /** While this read runs: the one it renews. */
  before: Kept<T> | undefined;
}

/**
 * Reads of labs, shared: however many pollers ask, the host is asked at most once per lab and interval (a shorter one while nodes start or stop),
 * and those who ask meanwhile get the same answer. A failed read is shared too, so that a host in trouble is not asked more often. Changes forget what is kept.
 * Whoever asks for a status, or for what names its rows, in the interval after gets the last one at once while the next is read: among many
 * pollers nobody waits. Only while nodes start or stop they do: then the answer is what they wait for.
 */
export class Observations {
  readonly #clock: Clock;
  readonly #statusMs: number;
  readonly #status = new Map<string, Kept<LiveStatus>>();
  readonly #structure = new Map<string, Kept<ObservedLab | null>>();
  readonly #seen = new RecentMap<LiveStatus>(1000);
  /** How long a status of these labs, whose nodes are just starting or stopping, is kept. */
  readonly #settling = new RecentMap<number>(1000);
  readonly #changes = new RecentMap<number>(1000);

  constructor(clock: Clock, statusMs: number) {
    this.#clock = clock;
    this.#statusMs = statusMs;
  }

  status(host: HostSession, path: string): Promise<LiveStatus> {
    const soonMs = this.#settling.get(path);
    const keepMs = soonMs ?? this.#statusMs;
    const kept = this.#kept(this.#status, path, keepMs, async () => {
      try {
        const began = this.#clock.now();
        const status = await host.status(path);
        this.#seen.set(path, status);
        // Whoever waits for nodes wants to know soon; a host whose answers take long is left half of its time.
        const nextMs = Math.max(settlingMs, 2 * (this.#clock.now() - began));
        if (nextMs < this.#statusMs && status.nodes.some(isSettling)) this.#settling.set(path, nextMs);
        else this.#settling.delete(path);
        return status;
      } catch (error) {
        if (error instanceof Failure && error.code === "lab_not_found") this.#seen.delete(path);
        throw error;
      }
    });
    return soonMs === undefined ? this.#atOnce(kept, keepMs) : kept.value;
  }

  /** The newest status that was read, however long ago; reads nothing. */
  lastSeen(path: string): LiveStatus | undefined {
    return this.#seen.get(path);
  }

  /** The persisted definition, at most `maxAgeMs` old. */
  structure(host: HostSession, path: string, maxAgeMs: number): Promise<ObservedLab | null> {
    return this.#kept(this.#structure, path, maxAgeMs, () => host.observe(path)).value;
  }

  /** The same, for what may be a little older: while it is read anew, the last one. */
  recentStructure(host: HostSession, path: string, maxAgeMs: number): Promise<ObservedLab | null> {
    return this.#atOnce(
      this.#kept(this.#structure, path, maxAgeMs, () => host.observe(path)),
      maxAgeMs,
    );
  }

  /** When the kept definition was read; undefined when none is kept. */
  structureTime(path: string): number | undefined {
    return this.#structure.get(path)?.at;
  }

  /** How often what is kept of a lab was forgotten: another number than before a read tells that the read may be older than a change. */
  changes(path: string): number {
    return this.#changes.get(path) ?? 0;
  }

  forget(path: string): void {
    this.#changes.set(path, this.changes(path) + 1);
    this.#status.delete(path);
    this.#structure.delete(path);
  }

  #atOnce<T>({ before, value }: Kept<T>, maxAgeMs: number): Promise<T> {
    return before !== undefined && this.#clock.now() - before.at < 2 * maxAgeMs ? before.value : value;
  }

  #kept<T>(all: Map<string, Kept<T>>, path: string, maxAgeMs: number, read: () => Promise<T>): Kept<T> {
    const now = this.#clock.now();
    const known = all.get(path);
    if (known !== undefined && now - known.at < maxAgeMs) return known;
    const kept: Kept<T> = { at: now, value: read(), before: known === undefined ? undefined : { ...known, before: undefined } };
    const ended = () => {
      kept.before = undefined;
    };
    // Those who wait for it see the failure; kept without a waiter it must not count as unhandled.
    kept.value.then(ended, ended);
    all.delete(path);
    all.set(path, kept);
    if (all.size > 1000) all.delete(all.keys().next().value!);
    return kept;
  }
}

const settlingMs = 20;

function isSettling({ status }: LiveStatus["nodes"][number]): boolean {
  return status === "starting" || status === "stopping";
}
