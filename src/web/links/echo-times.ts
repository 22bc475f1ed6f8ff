import type { TrafficPacket } from "../traffic/feed/traffic-packet.ts";

/** An echo request (ping) that left the watched end of a link, and its answer. */
export interface EchoTime {
  /** When the request was told, by the page's own clock, ms since the epoch. */
  readonly at: number;
  /** Until the answer was back; undefined: it is not, yet. */
  readonly ms: number | undefined;
}

interface Waiting {
  readonly at: number;
  /** By the host's clock, ms. */
  readonly left: number;
}

/** So many requests at most are remembered without an answer, and answers for drawing. */
const most = 1_000;

/**
 * Round-trip times of pings that cross a link, from its packets as they pass. A link is watched at one of its ends: only for requests that leave
 * that end both ways over the link lie between request and answer.
 */
export class EchoTimes {
  readonly #from: string;
  readonly #waiting = new Map<string, Waiting>();
  #times: EchoTime[] = [];

  /** @param from the watched end, as packets name it */
  constructor(from: string) {
    this.#from = from;
  }

  /** @param now by the page's clock, which the host's need not agree with, ms since the epoch */
  add({ at, from, to, summary }: TrafficPacket, now: number): void {
    const words = /^(\S+) → (\S+) .*\becho (request|reply) (id \d+ seq \d+)/.exec(summary);
    if (words === null) return;
    const [, source, destination, kind, id] = words;
    if (kind === "request" && from === this.#from) {
      const key = `${source} ${destination} ${id}`;
      this.#waiting.set(key, { at: now, left: timeOf(at) });
      const oldest = this.#waiting.keys().next();
      if (this.#waiting.size > most && oldest.done !== true) this.#waiting.delete(oldest.value);
    } else if (kind === "reply" && to === this.#from) {
      const key = `${destination} ${source} ${id}`;
      const asked = this.#waiting.get(key);
      if (asked === undefined) return;
      this.#waiting.delete(key);
      this.#times = [...this.#times, { at: asked.at, ms: timeOf(at) - asked.left }].slice(-most);
    }
  }

  /** Of requests told from `since` on, in the order of the answers; those without one last. */
  times(since: number): readonly EchoTime[] {
    for (const [key, { at }] of this.#waiting) if (at < since) this.#waiting.delete(key);
    this.#times = this.#times.filter(({ at }) => at >= since);
    return [...this.#times, ...[...this.#waiting.values()].map(({ at }) => ({ at, ms: undefined }))];
  }
}

/** RFC 3339 with microseconds → ms with a fraction. */
function timeOf(text: string): number {
  const micros = /\.\d{3}(\d{3})Z$/.exec(text)?.[1] ?? "0";
  return Date.parse(text) + Number(micros) / 1000;
}
