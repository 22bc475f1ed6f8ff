import type { TrafficPacket, TrafficSample } from "./traffic-packet.ts";

/** The rate of one kind of packets in one direction of a link, over the last seconds. */
export interface TrafficRate {
  /** Key of the link. */
  readonly link: string;
  readonly from: string;
  readonly to: string;
  /** Key of the kind; "": all packets. */
  readonly kind: string;
  /** Per second. */
  readonly packets: number;
  /** Per second. */
  readonly bits: number;
  /** Summary of the newest packet. */
  readonly last: string;
}

interface Count extends Pick<TrafficPacket, "link" | "from" | "to"> {
  readonly kind: string;
  packets: number;
  bytes: number;
  last: string;
}

interface Interval {
  readonly counts: ReadonlyMap<string, Count>;
  readonly elapsedMs: number;
  /** Number of seen packets per received packet. */
  readonly weight: number;
}

/** Rates are averages over this many intervals, so that one ping per second does not alternate between 0 and 2 packets/s. */
const averagedIntervals = 3;

/** Counts packets, and computes rates. */
export class TrafficRates {
  #counts = new Map<string, Count>();
  #seen = 0;
  #received = 0;
  #intervals: readonly Interval[] = [];

  add({ link, from, to, length, summary }: TrafficPacket, kind = ""): void {
    const key = `${link}\0${from}\0${kind}`;
    let count = this.#counts.get(key);
    if (count === undefined) {
      count = { link, from, to, kind, packets: 0, bytes: 0, last: "" };
      this.#counts.set(key, count);
    }
    count.packets++;
    count.bytes += length;
    count.last = summary;
  }

  /** Adds the counts of a sample: rates are scaled up to the packets that were seen. */
  sampled({ seen, told }: TrafficSample): void {
    this.#seen += seen;
    this.#received += told;
  }

  /** Whether rates are estimated from a sample. */
  get estimated(): boolean {
    return this.#intervals.some(({ weight }) => weight > 1);
  }

  /** Ends an interval of about a second. Returns the rates of the last intervals, sorted by link, end and kind. */
  endInterval(elapsedMs: number): readonly TrafficRate[] {
    const weight = this.#received > 0 ? Math.max(1, this.#seen / this.#received) : 1;
    this.#intervals = [...this.#intervals, { counts: this.#counts, elapsedMs, weight }].slice(-averagedIntervals);
    this.#counts = new Map();
    this.#seen = 0;
    this.#received = 0;
    const seconds = this.#intervals.reduce((sum, { elapsedMs: ms }) => sum + ms, 0) / 1000;
    const rates = new Map<string, TrafficRate>();
    for (const { counts, weight: times } of this.#intervals) {
      for (const [key, { link, from, to, kind, packets, bytes, last }] of counts) {
        const before = rates.get(key);
        rates.set(key, {
          ...{ link, from, to, kind, last },
          packets: (before?.packets ?? 0) + (packets * times) / seconds,
          bits: (before?.bits ?? 0) + (bytes * 8 * times) / seconds,
        });
      }
    }
    return [...rates].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rate]) => rate);
  }
}
