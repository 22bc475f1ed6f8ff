import { TrafficDots } from "./traffic-dots.ts";
import type { TrafficPacket, TrafficSample } from "./traffic-packet.ts";
import { type TrafficRate, TrafficRates } from "./traffic-rates.ts";

/** Rates are told so often, ms. */
const turnMs = 1_000;

/** What passes now, for those who draw it and those who tell it. */
export class TrafficPicture {
  readonly dots = new TrafficDots();
  /** Of the last seconds. */
  rates: readonly TrafficRate[] = [];
  /** Rates are estimated: more packets pass than are told. */
  estimated = false;
  /** Packets that were lost before anybody saw them, since the beginning. */
  lost = 0;
  /** Colours by name of a filter; those that are not in it are not shown. Null: packets that no filter takes. */
  colors: ReadonlyMap<string | null, string> = new Map();
  #counts = new TrafficRates();
  readonly #heard = new Set<(what: "dot" | "rates") => void>();
  #turned = performance.now();

  /** Tells of each packet that is to be drawn, and of new rates. Answers the function that ends it. */
  listen(heard: (what: "dot" | "rates") => void): () => void {
    this.#heard.add(heard);
    return () => void this.#heard.delete(heard);
  }

  packet(packet: TrafficPacket): void {
    if (!this.colors.has(packet.filter)) return;
    this.#counts.add(packet);
    if (this.dots.add(packet, performance.now())) this.#tell("dot");
  }

  sample(sample: TrafficSample): void {
    this.#counts.sampled(sample);
    this.lost += sample.dropped;
  }

  /** Counts until the answered function is called; from then on nothing passes, as far as is known. */
  begin(): () => void {
    this.#turned = performance.now();
    const timer = setInterval(() => this.#turn(), turnMs);
    return () => {
      clearInterval(timer);
      this.dots.clear();
      this.#counts = new TrafficRates();
      this.rates = [];
      this.estimated = false;
      this.#tell("rates");
    };
  }

  #turn(): void {
    const now = performance.now();
    this.rates = this.#counts.turn(now - this.#turned);
    this.estimated = this.#counts.estimated;
    this.#turned = now;
    this.#tell("rates");
  }

  #tell(what: "dot" | "rates"): void {
    for (const heard of this.#heard) heard(what);
  }
}
