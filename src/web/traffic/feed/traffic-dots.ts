import type { TrafficPacket } from "./traffic-packet.ts";

/** A packet on its way along a link's line. */
export interface Dot {
  /** Key of the link. */
  readonly link: string;
  /** "r1:eth1", or a network's key: the end that it comes from. */
  readonly from: string;
  /** Null: no filter takes it. */
  readonly filter: string | null;
  /** ms, on the clock of frames. */
  readonly begun: number;
}

/** From one end to the other, ms: long enough to follow by eye. */
export const travelMs = 900;
/** Of packets of one filter that follow each other closer, ms, one is drawn. */
const closest = 70;
/** At once; beyond it nothing could be told apart, and each costs time. */
const most = 600;

/** The packets that are drawn now. Of many only as many as can be told apart: rates are told in words. */
export class TrafficDots {
  #dots: Dot[] = [];
  readonly #newest = new Map<string, number>();

  /** Answers whether it is drawn. */
  add({ link, from, filter }: Pick<TrafficPacket, "link" | "from" | "filter">, now: number): boolean {
    const lane = `${link}\0${from}\0${filter ?? ""}`;
    if (this.#dots.length >= most || now - (this.#newest.get(lane) ?? Number.NEGATIVE_INFINITY) < closest) return false;
    this.#newest.set(lane, now);
    this.#dots.push({ link, from, filter, begun: now });
    return true;
  }

  /** Those on their way now; the others are forgotten. */
  at(now: number): readonly Dot[] {
    if (this.#dots.some(({ begun }) => now - begun >= travelMs)) this.#dots = this.#dots.filter(({ begun }) => now - begun < travelMs);
    return this.#dots;
  }

  clear(): void {
    this.#dots = [];
    this.#newest.clear();
  }
}
