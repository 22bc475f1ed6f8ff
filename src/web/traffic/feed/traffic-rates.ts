import type { TrafficPacket, TrafficSample } from "./traffic-packet.ts";

/** What passed one end of a link towards the other in the last seconds, of one filter. */
export interface TrafficRate {
  /** Key of the link. */
  readonly link: string;
  readonly from: string;
  readonly to: string;
  /** Null: packets that no filter takes. */
  readonly filter: string | null;
  /** Each second. */
  readonly packets: number;
  /** Each second. */
  readonly bits: number;
  /** The newest packet, in words. */
  readonly last: string;
}

interface Count extends Pick<TrafficPacket, "link" | "from" | "to" | "filter"> {
  packets: number;
  bytes: number;
  last: string;
}

interface Turn {
  readonly counts: ReadonlyMap<string, Count>;
  readonly elapsedMs: number;
  /** How many packets one that was told stands for. */
  readonly weight: number;
}

/** Rates are those of so many turns: one ping a second is one packet a second, and not now none, now two. */
const turnsKept = 3;

/** Counts packets, and tells rates. */
export class TrafficRates {
  #counts = new Map<string, Count>();
  #seen = 0;
  #told = 0;
  #turns: readonly Turn[] = [];

  add({ link, from, to, filter, length, summary }: TrafficPacket): void {
    const key = `${link}\0${from}\0${filter ?? ""}\0${filter === null}`;
    let count = this.#counts.get(key);
    if (count === undefined) {
      count = { link, from, to, filter, packets: 0, bytes: 0, last: "" };
      this.#counts.set(key, count);
    }
    count.packets++;
    count.bytes += length;
    count.last = summary;
  }

  /** Not all were told: those that were stand for the others. */
  sampled({ seen, told }: TrafficSample): void {
    this.#seen += seen;
    this.#told += told;
  }

  /** Whether rates are estimated from a sample. */
  get estimated(): boolean {
    return this.#turns.some(({ weight }) => weight > 1);
  }

  /** Ends a turn, of about a second. Answers the rates of the last turns, by link, end and filter. */
  turn(elapsedMs: number): readonly TrafficRate[] {
    const weight = this.#told > 0 ? Math.max(1, this.#seen / this.#told) : 1;
    this.#turns = [...this.#turns, { counts: this.#counts, elapsedMs, weight }].slice(-turnsKept);
    this.#counts = new Map();
    this.#seen = 0;
    this.#told = 0;
    const seconds = this.#turns.reduce((sum, { elapsedMs: ms }) => sum + ms, 0) / 1000;
    const rates = new Map<string, TrafficRate>();
    for (const { counts, weight: times } of this.#turns) {
      for (const [key, { link, from, to, filter, packets, bytes, last }] of counts) {
        const before = rates.get(key);
        rates.set(key, {
          ...{ link, from, to, filter, last },
          packets: (before?.packets ?? 0) + (packets * times) / seconds,
          bits: (before?.bits ?? 0) + (bytes * 8 * times) / seconds,
        });
      }
    }
    return [...rates].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rate]) => rate);
  }
}
