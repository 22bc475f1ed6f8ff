import { Failure } from "../../contract/errors.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import type { HostSession, LiveStatus } from "../../hosts/host.ts";
import type { Clock } from "../common/clock.ts";
import { RecentMap } from "../common/recent-map.ts";
import { isOfLab, type LabScope, labScope } from "../streams/lab-scope.ts";

interface Kept<T> {
  readonly at: number;
  readonly value: Promise<T>;
  /** While this read runs: the previous value, which it will replace. */
  before: Kept<T> | undefined;
}

/**
 * Reads of labs, shared: however many pollers ask, the host is asked at most once per lab and interval (a shorter one while nodes start or stop),
 * and concurrent callers share the answer. A failed read is shared too, so that a failing host is not read more often. Changes drop the cache.
 * In the interval after a read, callers get its result at once while the next read runs, so that polls are fast. While nodes start or stop, callers
 * wait for the new result.
 */
export class Observations {
  readonly #clock: Clock;
  readonly #statusMs: number;
  readonly #status = new Map<string, Kept<LiveStatus>>();
  readonly #structure = new Map<string, Kept<ObservedLab | null>>();
  readonly #seen = new RecentMap<LiveStatus>(1000);
  /** How long a status is cached for labs with starting or stopping nodes, ms. */
  readonly #settling = new RecentMap<number>(1000);
  readonly #changes = new RecentMap<number>(1000);

  readonly #scope: LabScope;

  readonly #notice: (path: string) => void;

  /**
   * @param isRecorded whether the service has a record of a lab: reads of other labs are cached per user
   * @param notice called with each read of the host; drops the cache if another lab is at the path
   */
  constructor(clock: Clock, statusMs: number, isRecorded: (path: string) => boolean, notice: (path: string) => void) {
    this.#notice = notice;
    this.#scope = labScope(isRecorded);
    this.#clock = clock;
    this.#statusMs = statusMs;
  }

  status(host: HostSession, path: string): Promise<LiveStatus> {
    const key = this.#scope(host, path);
    const soonMs = this.#settling.get(key);
    const keepMs = soonMs ?? this.#statusMs;
    const kept = this.#kept(this.#status, key, keepMs, async () => {
      try {
        const began = this.#clock.now();
        this.#notice(path);
        const status = await host.status(path);
        this.#seen.set(key, status);
        // Callers that wait for nodes need a fast answer, but a slow host must be idle half of the time.
        const nextMs = Math.max(settlingMs, 2 * (this.#clock.now() - began));
        if (nextMs < this.#statusMs && status.nodes.some(isSettling)) this.#settling.set(key, nextMs);
        else this.#settling.delete(key);
        return status;
      } catch (error) {
        if (error instanceof Failure && error.code === "lab_not_found") this.#seen.delete(key);
        throw error;
      }
    });
    return soonMs === undefined ? this.#atOnce(kept, keepMs) : kept.value;
  }

  /** Returns the newest cached status of a lab with a record, of any age. Reads nothing. */
  lastSeen(path: string): LiveStatus | undefined {
    return this.#seen.get(`${path}\0`);
  }

  /** Returns the persisted definition, at most `maxAgeMs` old. */
  structure(host: HostSession, path: string, maxAgeMs: number): Promise<ObservedLab | null> {
    return this.#kept(this.#structure, this.#scope(host, path), maxAgeMs, () => this.#observe(host, path)).value;
  }

  /** Like the above, but returns the previous value while a new read runs. */
  recentStructure(host: HostSession, path: string, maxAgeMs: number): Promise<ObservedLab | null> {
    return this.#atOnce(
      this.#kept(this.#structure, this.#scope(host, path), maxAgeMs, () => this.#observe(host, path)),
      maxAgeMs,
    );
  }

  /** Number of times that a lab's cache was dropped. If it changed during a read, the read may be older than a change. */
  changes(path: string): number {
    return this.#changes.get(path) ?? 0;
  }

  forget(path: string): void {
    this.#changes.set(path, this.changes(path) + 1);
    for (const kept of [this.#status, this.#structure]) for (const key of kept.keys()) if (isOfLab(key, path)) kept.delete(key);
  }

  #observe(host: HostSession, path: string): Promise<ObservedLab | null> {
    this.#notice(path);
    return host.observe(path);
  }

  #atOnce<T>({ before, value }: Kept<T>, maxAgeMs: number): Promise<T> {
    return before !== undefined && this.#clock.now() - before.at < 2 * maxAgeMs ? before.value : value;
  }

  #kept<T>(all: Map<string, Kept<T>>, key: string, maxAgeMs: number, read: () => Promise<T>): Kept<T> {
    const now = this.#clock.now();
    const known = all.get(key);
    if (known !== undefined && now - known.at < maxAgeMs) return known;
    const kept: Kept<T> = { at: now, value: read(), before: known === undefined ? undefined : { ...known, before: undefined } };
    const ended = () => {
      kept.before = undefined;
    };
    // Awaiting callers get the failure. A cached rejection without a caller must not count as unhandled.
    kept.value.then(ended, (error: unknown) => {
      ended();
      // The failure concerns the reading session, not the lab: after a new login the lab is read again.
      if (error instanceof Failure && error.code === "expired_host_session" && all.get(key) === kept) all.delete(key);
    });
    all.delete(key);
    all.set(key, kept);
    if (all.size > 1000) all.delete(all.keys().next().value!);
    return kept;
  }
}

const settlingMs = 20;

function isSettling({ status }: LiveStatus["nodes"][number]): boolean {
  return status === "starting" || status === "stopping";
}
