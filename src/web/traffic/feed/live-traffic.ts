import { TrafficDots } from "./traffic-dots.ts";
import { kindOf, type TrafficKind } from "./traffic-kinds.ts";
import type { LinkRate, TrafficPacket, TrafficSample } from "./traffic-packet.ts";
import { type TrafficRate, TrafficRates } from "./traffic-rates.ts";

/** How often rates are computed, ms. */
const intervalMs = 1_000;

/** The current traffic of a lab: packets to draw, and rates. */
export class LiveTraffic {
  readonly dots = new TrafficDots();
  /** Rates of the last seconds. */
  rates: readonly TrafficRate[] = [];
  /** Whether rates are estimated, because the stream contains only a sample of the packets. */
  estimated = false;
  /** Number of packets that the host lost, since the start. */
  lost = 0;
  /** The shown kinds, by key. Packets of other kinds are only added to `seen`. */
  kinds: ReadonlyMap<string, TrafficKind> = new Map();
  /** Keys of the kinds of all packets since the start. */
  readonly seen = new Set<string>();
  /** Whether only the rates of links are known, as a heat map shows them. */
  isHeat = false;
  #counts = new TrafficRates();
  readonly #listeners = new Set<(change: "dot" | "rates") => void>();
  #intervalStart = performance.now();

  /** Calls the listener for each packet to draw, and for new rates. Returns a function that removes the listener. */
  listen(listener: (change: "dot" | "rates") => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  packet(packet: TrafficPacket): void {
    const kind = kindOf(packet);
    if (!this.seen.has(kind)) {
      this.seen.add(kind);
      this.#notify("rates");
    }
    if (!this.kinds.has(kind)) return;
    this.#counts.add(packet, kind);
    if (this.dots.add({ link: packet.link, from: packet.from, kind }, performance.now())) this.#notify("dot");
  }

  /** Shows the rates of links, which the host counted. */
  heat(links: readonly LinkRate[]): void {
    this.rates = links.map((one) => ({ ...one, kind: "", last: "" }));
    this.#notify("rates");
  }

  sample(sample: TrafficSample): void {
    this.#counts.sampled(sample);
    this.lost += sample.dropped;
  }

  /** Starts to compute rates, or to show those of the host. Returns a function that stops it, and removes packets and rates. */
  begin(isHeat: boolean): () => void {
    this.isHeat = isHeat;
    this.#intervalStart = performance.now();
    const timer = isHeat ? undefined : setInterval(() => this.#endInterval(), intervalMs);
    return () => {
      clearInterval(timer);
      this.dots.clear();
      this.#counts = new TrafficRates();
      this.rates = [];
      this.estimated = false;
      this.#notify("rates");
    };
  }

  #endInterval(): void {
    const now = performance.now();
    this.rates = this.#counts.endInterval(now - this.#intervalStart);
    this.estimated = this.#counts.estimated;
    this.#intervalStart = now;
    this.#notify("rates");
  }

  #notify(change: "dot" | "rates"): void {
    for (const listener of this.#listeners) listener(change);
  }
}
