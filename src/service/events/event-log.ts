import { randomBytes } from "node:crypto";
import type { EventData } from "../../contract/schemas/observe.ts";
import { type Clock, timeText } from "../common/clock.ts";
import type { LabRecord } from "../store/store.ts";

/**
 * Users who may see an event: those with a right on the lab at the time of the event. For a lab that has no record, `only` is the user whose host session
 * read the lab. `undefined`: only admins.
 */
export type Audience = Pick<LabRecord, "owner" | "grants"> | { readonly only: string } | undefined;

export interface News {
  readonly type: "node" | "link" | "lab" | "job" | "capture" | "presence";
  readonly lab: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Entry {
  readonly event: EventData;
  readonly audience: Audience;
}

/** Start position of a reader: after event `at`; `gap` if the requested position is not available. */
export interface Place {
  readonly at: number;
  readonly gap?: Readonly<Record<string, unknown>>;
}

export interface Following {
  readonly from: Place;
  readonly accepts: (entry: Entry) => boolean;
  /** Called once per heartbeat interval. False ends the stream. */
  readonly alive: () => boolean;
  readonly heartbeatMs: number;
  readonly signal: AbortSignal;
}

/**
 * The newest events in a ring. A reader has only a position in it, so that a slow reader uses no memory. A reader that falls behind the oldest
 * event is disconnected, and gets a gap when it reconnects. Event ids are valid for the lifetime of this log.
 */
export class EventLog {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #epoch = randomBytes(6).toString("hex");
  readonly #ring: Entry[] = [];
  /** Number of the newest event; the first is 1. */
  #last = 0;
  #waiting = new Set<() => void>();
  #followers = 0;
  #dropped = 0;

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  get followers(): number {
    return this.#followers;
  }

  /** Readers that were too slow. */
  get dropped(): number {
    return this.#dropped;
  }

  publish({ type, lab, data }: News, audience: Audience): void {
    this.#last += 1;
    const event: EventData = { id: this.#id(this.#last), at: timeText(this.#clock.now()), type, lab, data };
    this.#ring[this.#last % this.#limit] = { event, audience };
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
  }

  /** Returns the position after an event, by default the current end. An id from before a restart, or of a dropped event, returns a gap. */
  place(after: string | undefined): Place {
    if (after === undefined) return { at: this.#last };
    const [, epoch, number] = /^([0-9a-f]{12})-(\d{1,15})$/.exec(after) ?? [];
    const at = Number(number);
    const oldest = Math.max(0, this.#last - this.#limit);
    if (epoch !== this.#epoch || at > this.#last) return { at: oldest, gap: { after, reason: "restart" } };
    if (at < oldest) return { at: oldest, gap: { after, reason: "history" } };
    return { at };
  }

  /** Yields the events after a position, with a heartbeat first and in quiet times. Ends when the signal aborts, or when the reader falls behind. */
  async *follow({ from, accepts, alive, heartbeatMs, signal }: Following): AsyncGenerator<EventData, void, undefined> {
    let { at } = from;
    this.#followers += 1;
    try {
      yield from.gap === undefined ? this.#notice(at, "heartbeat") : this.#notice(at, "gap", from.gap);
      let quietAt = performance.now() + heartbeatMs;
      let askAt = quietAt;
      while (!signal.aborted) {
        if (performance.now() >= askAt) {
          if (!alive()) return;
          askAt = performance.now() + heartbeatMs;
        }
        if (at < this.#last - this.#limit) {
          this.#dropped += 1;
          return;
        }
        if (at < this.#last) {
          at += 1;
          const entry = this.#ring[at % this.#limit];
          if (entry === undefined || !accepts(entry)) continue;
          yield entry.event;
          quietAt = performance.now() + heartbeatMs;
        } else if (performance.now() >= quietAt) {
          yield this.#notice(at, "heartbeat");
          quietAt = performance.now() + heartbeatMs;
        } else await this.#wait(Math.min(quietAt, askAt) - performance.now(), signal);
      }
    } finally {
      this.#followers -= 1;
    }
  }

  #notice(at: number, type: "heartbeat" | "gap", data?: Readonly<Record<string, unknown>>): EventData {
    return { id: this.#id(at), at: timeText(this.#clock.now()), type, ...(data !== undefined && { data }) };
  }

  #id(number: number): string {
    return `${this.#epoch}-${number}`;
  }

  #wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.max(1, ms));
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake);
    });
  }
}
