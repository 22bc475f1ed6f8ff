import { TrafficDots } from "./traffic-dots.ts";
import type { TrafficPacket, TrafficSample } from "./traffic-packet.ts";
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
  /** Colours of the shown filters, by name; null is the key of packets that match no filter. Packets of other filters are ignored. */
  colors: ReadonlyMap<string | null, string> = new Map();
  #counts = new TrafficRates();
  readonly #listeners = new Set<(change: "dot" | "rates") => void>();
  #intervalStart = performance.now();

  /** Calls the listener for each packet to draw, and for new rates. Returns a function that removes the listener. */
  listen(listener: (change: "dot" | "rates") => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  packet(packet: TrafficPacket): void {
    if (!this.colors.has(packet.filter)) return;
    this.#counts.add(packet);
    if (this.dots.add(packet, performance.now())) this.#notify("dot");
  }

  sample(sample: TrafficSample): void {
    this.#counts.sampled(sample);
    this.lost += sample.dropped;
  }

  /** Starts to compute rates. Returns a function that stops it, and removes packets and rates. */
  begin(): () => void {
    this.#intervalStart = performance.now();
    const timer = setInterval(() => this.#endInterval(), intervalMs);
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
