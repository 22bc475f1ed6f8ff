import type { TrafficPacket } from "../traffic/feed/traffic-packet.ts";

/** An echo request (ping) that left the watched end of a link, and its answer. */
export interface EchoTime {
  /** When the page received the request, by the page's clock, ms since the epoch. */
  readonly at: number;
  /** Round-trip time; undefined: no answer yet. */
  readonly ms: number | undefined;
}

interface PendingRequest {
  readonly at: number;
  /** When it left the watched end, by the host's clock, ms. */
  readonly sentAt: number;
}

/** Maximum number of requests without an answer, and of round-trip times. */
const maxEntries = 1_000;

/**
 * Round-trip times of pings that cross a link, computed from the packets of its live traffic. A link is watched at one end. Only a request that leaves
 * this end crosses the link in both directions between request and answer, so only those are measured.
 */
export class EchoTimes {
  readonly #from: string;
  readonly #pending = new Map<string, PendingRequest>();
  #times: EchoTime[] = [];

  /** @param from the watched end, as in the packets */
  constructor(from: string) {
    this.#from = from;
  }

  /** @param now by the page's clock, which may differ from the host's, ms since the epoch */
  add({ at, from, to, summary }: TrafficPacket, now: number): void {
    const match = /^(\S+) → (\S+) .*\becho (request|reply) (id \d+ seq \d+)/.exec(summary);
    if (match === null) return;
    const [, source, destination, kind, id] = match;
    if (kind === "request" && from === this.#from) {
      const key = `${source} ${destination} ${id}`;
      this.#pending.set(key, { at: now, sentAt: timeOf(at) });
      const oldest = this.#pending.keys().next();
      if (this.#pending.size > maxEntries && oldest.done !== true) this.#pending.delete(oldest.value);
    } else if (kind === "reply" && to === this.#from) {
      const key = `${destination} ${source} ${id}`;
      const request = this.#pending.get(key);
      if (request === undefined) return;
      this.#pending.delete(key);
      this.#times = [...this.#times, { at: request.at, ms: timeOf(at) - request.sentAt }].slice(-maxEntries);
    }
  }

  /** Returns the requests since a time, in the order of their answers; requests without an answer last. Older ones are forgotten. */
  times(since: number): readonly EchoTime[] {
    for (const [key, { at }] of this.#pending) if (at < since) this.#pending.delete(key);
    this.#times = this.#times.filter(({ at }) => at >= since);
    return [...this.#times, ...[...this.#pending.values()].map(({ at }) => ({ at, ms: undefined }))];
  }
}

/** Converts RFC 3339 with microseconds to ms with a fraction. */
function timeOf(text: string): number {
  const micros = /\.\d{3}(\d{3})Z$/.exec(text)?.[1] ?? "0";
  return Date.parse(text) + Number(micros) / 1000;
}
