import { Failure } from "../contract/errors.ts";
import type { ObservedLab } from "../engine/observed.ts";
import type { HostSession, LiveStatus } from "../hosts/host.ts";
import type { Clock } from "./clock.ts";
import { RecentMap } from "./recent-map.ts";

interface Kept<T> {
  readonly at: number;
  readonly value: Promise<T>;
}

/**
 * Reads of labs, shared: however many pollers ask, the host is asked at most once per lab and interval, and those who ask meanwhile
 * get the same answer. A failed read is shared too, so that a host in trouble is not asked more often. Changes forget what is kept.
 */
export class Observations {
  readonly #clock: Clock;
  readonly #statusMs: number;
  readonly #status = new Map<string, Kept<LiveStatus>>();
  readonly #structure = new Map<string, Kept<ObservedLab | null>>();
  readonly #seen = new RecentMap<LiveStatus>(1000);

  constructor(clock: Clock, statusMs: number) {
    this.#clock = clock;
    this.#statusMs = statusMs;
  }

  status(host: HostSession, path: string): Promise<LiveStatus> {
    return this.#shared(this.#status, path, this.#statusMs, async () => {
      try {
        const status = await host.status(path);
        this.#seen.set(path, status);
        return status;
      } catch (error) {
        if (error instanceof Failure && error.code === "lab_not_found") this.#seen.delete(path);
        throw error;
      }
    });
  }

  /** The newest status that was read, however long ago; reads nothing. */
  lastSeen(path: string): LiveStatus | undefined {
    return this.#seen.get(path);
  }

  /** The persisted definition, at most `maxAgeMs` old. */
  structure(host: HostSession, path: string, maxAgeMs: number): Promise<ObservedLab | null> {
    return this.#shared(this.#structure, path, maxAgeMs, () => host.observe(path));
  }

  /** When the kept definition was read; undefined when none is kept. */
  structureTime(path: string): number | undefined {
    return this.#structure.get(path)?.at;
  }

  forget(path: string): void {
    this.#status.delete(path);
    this.#structure.delete(path);
  }

  #shared<T>(kept: Map<string, Kept<T>>, path: string, maxAgeMs: number, read: () => Promise<T>): Promise<T> {
    const now = this.#clock.now();
    const known = kept.get(path);
    if (known !== undefined && now - known.at < maxAgeMs) return known.value;
    const value = read();
    // Those who wait for it see the failure; kept without a waiter it must not count as unhandled.
    value.catch(() => {});
    kept.delete(path);
    kept.set(path, { at: now, value });
    if (kept.size > 1000) kept.delete(kept.keys().next().value!);
    return value;
  }
}
