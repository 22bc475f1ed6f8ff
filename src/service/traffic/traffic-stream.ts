import { Readable } from "node:stream";
import { type PacketFilter, passes } from "../../packets/bpf.ts";
import { decodeFrame } from "../../packets/decode/frame.ts";
import type { CapturedPacket } from "../../packets/pcapng-reader.ts";

/** A traffic filter of the intent, compiled. */
export interface NamedFilter {
  readonly name: string;
  readonly program: PacketFilter;
  /** Link keys that it is about; absent: every link. */
  readonly links?: ReadonlySet<string>;
}

/** A link as it is called in the lab. */
export interface NamedLink {
  readonly key: string;
  /** "r1:eth1", or the key of a network. */
  readonly ends: readonly [string, string];
}

export interface TrafficStreamOptions {
  readonly filters: readonly NamedFilter[];
  /** Packets that no filter takes are left out. */
  readonly onlyFiltered: boolean;
  readonly link: (linkId: string) => NamedLink | undefined;
}

/** What a person, and a page, can follow: beyond it a sample is told. */
const mostPerSecond = 1_000;
/** What waits for a viewer that does not read; beyond it packets are only counted. */
const mostWaiting = 256 << 10;
const tellMs = 1_000;

/**
 * Packets in the lab's own words, one JSON object a line. A viewer that is slow, or a link that is fast, costs neither memory nor time: what is
 * left out is counted, and told once a second as {"sampled": {at, seen, told, dropped}}.
 */
export class TrafficStream extends Readable {
  readonly #options: TrafficStreamOptions;
  readonly #timer: NodeJS.Timeout;
  #seen = 0;
  #told = 0;
  #dropped = 0;

  constructor(options: TrafficStreamOptions) {
    super({ highWaterMark: mostWaiting });
    this.#options = options;
    this.#timer = setInterval(() => this.#tellSample(), tellMs);
    this.#timer.unref();
  }

  packet(linkId: string, packet: CapturedPacket, from: 0 | 1): void {
    const link = this.#options.link(linkId);
    if (link === undefined || this.destroyed) return;
    const filter = this.#filterOf(link, packet);
    if (filter === undefined && this.#options.onlyFiltered) return;
    this.#seen++;
    if (this.#told >= mostPerSecond || this.readableLength > mostWaiting) return;
    this.#told++;
    const { protocols, summary } = decodeFrame(packet.data);
    const line = {
      at: timeOf(packet),
      link: link.key,
      from: link.ends[from],
      to: link.ends[from === 0 ? 1 : 0],
      length: packet.length,
      protocols,
      summary,
      filter: filter ?? null,
    };
    this.push(`${JSON.stringify(line)}\n`);
  }

  dropped(count: number): void {
    this.#dropped += count;
  }

  override _read(): void {
    // Packets come when they come.
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearInterval(this.#timer);
    done(error);
  }

  #filterOf(link: NamedLink, { data, length }: CapturedPacket): string | undefined {
    return this.#options.filters.find(({ links, program }) => (links === undefined || links.has(link.key)) && passes(program, data, length))
      ?.name;
  }

  #tellSample(): void {
    const sampled = { at: new Date().toISOString(), seen: this.#seen, told: this.#told, dropped: this.#dropped };
    // Told when there is room for it; until then it goes on counting.
    const left = this.#seen > this.#told || this.#dropped > 0;
    if (left && this.readableLength > mostWaiting) return;
    if (left) this.push(`${JSON.stringify({ sampled })}\n`);
    this.#seen = 0;
    this.#told = 0;
    this.#dropped = 0;
  }
}

/** RFC 3339 with microseconds. */
function timeOf({ high, low }: CapturedPacket): string {
  const micros = ((BigInt(high) << 32n) | BigInt(low)) / 1000n;
  const text = new Date(Number(micros / 1000n)).toISOString();
  return `${text.slice(0, -1)}${String(micros % 1000n).padStart(3, "0")}Z`;
}
