import { Readable } from "node:stream";
import type { LinkCounters } from "../../hosts/host-traffic.ts";
import type { NamedLink } from "./traffic-stream.ts";

/** Counters of a link with its names in the lab. */
export interface NamedCounters extends NamedLink {
  readonly counters: LinkCounters;
}

/** The rate of one direction of a link; per second. */
export interface LinkRate {
  readonly link: string;
  readonly from: string;
  readonly to: string;
  readonly packets: number;
  readonly bits: number;
}

/** How often counters are read, ms. */
const intervalMs = 1_000;
/** Maximum bytes buffered for a slow viewer; further rates are left out. */
const maxWaitingBytes = 256 << 10;

/**
 * The rates of links, from the host's counters: one JSON object per second, {"rates": {at, links}}, which contains the links with traffic. Their cost
 * does not depend on the number of packets.
 */
export class RatesStream extends Readable {
  readonly #read: () => Promise<readonly NamedCounters[]>;
  #timer: NodeJS.Timeout | undefined;
  #before: { readonly at: number; readonly links: readonly NamedCounters[] } | undefined;

  /** @param read Returns the counters of the wanted links now. A failure ends the stream. */
  constructor(read: () => Promise<readonly NamedCounters[]>) {
    super({ highWaterMark: maxWaitingBytes });
    this.#read = read;
    void this.#next();
  }

  override _read(): void {
    // Rates come once a second.
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer);
    done(error);
  }

  async #next(): Promise<void> {
    try {
      const links = await this.#read();
      if (this.destroyed) return;
      const at = performance.now();
      const before = this.#before;
      this.#before = { at, links };
      if (before !== undefined && this.readableLength <= maxWaitingBytes) {
        const rates = { at: new Date().toISOString(), links: linkRates(before.links, links, (at - before.at) / 1000) };
        this.push(`${JSON.stringify({ rates })}\n`);
      }
      this.#timer = setTimeout(() => void this.#next(), intervalMs);
      this.#timer.unref();
    } catch (error) {
      this.destroy(error as Error);
    }
  }
}

/** Returns the rates between two reads, of each direction with packets. Counters that were reset meanwhile count from zero; a new link counts from the next read on. */
export function linkRates(before: readonly NamedCounters[], after: readonly NamedCounters[], seconds: number): readonly LinkRate[] {
  const known = new Map(before.map(({ key, counters }) => [key, counters]));
  return after.flatMap(({ key, ends, counters: { packets, bytes } }) => {
    const last = known.get(key);
    if (last === undefined) return [];
    return ([0, 1] as const).flatMap((side) => {
      const since = (now: number, then: number) => (now < then ? now : now - then);
      const count = since(packets[side], last.packets[side]);
      if (count === 0) return [];
      const bits = since(bytes[side], last.bytes[side]) * 8;
      const rate = (total: number) => Math.round((total / seconds) * 10) / 10;
      return [{ link: key, from: ends[side], to: ends[side === 0 ? 1 : 0], packets: rate(count), bits: Math.round(bits / seconds) }];
    });
  });
}
