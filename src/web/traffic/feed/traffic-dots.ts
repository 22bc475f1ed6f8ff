/** A packet on its way along a link's line. */
export interface Dot {
  /** Key of the link. */
  readonly link: string;
  /** The end that it leaves: "r1:eth1", or a network's key. */
  readonly from: string;
  /** Key of its kind. */
  readonly kind: string;
  /** When it left, ms, by the clock of animation frames. */
  readonly begun: number;
}

/** Time from one end to the other, ms: long enough to follow by eye. */
export const travelMs = 900;
/** Minimum time between two drawn packets of one kind and direction, ms. */
const minGapMs = 70;
/** Maximum number of packets that are drawn at once: each costs time. */
const maxDots = 600;

/** The packets that are drawn now. Only a part of dense traffic is drawn: the rates show the rest. */
export class TrafficDots {
  #dots: Dot[] = [];
  readonly #newest = new Map<string, number>();

  /** Adds a packet. Returns whether it is drawn. */
  add({ link, from, kind }: Omit<Dot, "begun">, now: number): boolean {
    const lane = `${link}\0${from}\0${kind}`;
    if (this.#dots.length >= maxDots || now - (this.#newest.get(lane) ?? Number.NEGATIVE_INFINITY) < minGapMs) return false;
    this.#newest.set(lane, now);
    this.#dots.push({ link, from, kind, begun: now });
    return true;
  }

  /** Returns the packets that are on their way, and removes the others. */
  at(now: number): readonly Dot[] {
    if (this.#dots.some(({ begun }) => now - begun >= travelMs)) this.#dots = this.#dots.filter(({ begun }) => now - begun < travelMs);
    return this.#dots;
  }

  clear(): void {
    this.#dots = [];
    this.#newest.clear();
  }
}
