import { Readable } from "node:stream";
import { type PacketFilter, passes } from "../../packets/bpf.ts";
import { decodeFrame } from "../../packets/decode/frame.ts";
import type { CapturedPacket } from "../../packets/pcapng-reader.ts";

/** A traffic filter of the intent, compiled. */
export interface NamedFilter {
  readonly name: string;
  readonly program: PacketFilter;
  /** Keys of the links to which it applies. Absent: every link. */
  readonly links?: ReadonlySet<string>;
}

/** A link with its names in the lab. */
export interface NamedLink {
  readonly key: string;
  /** "r1:eth1", or the key of a network. */
  readonly ends: readonly [string, string];
}

export interface TrafficStreamOptions {
  readonly filters: readonly NamedFilter[];
  /** Packets that match no filter are left out. */
  readonly onlyFiltered: boolean;
  readonly link: (linkId: string) => NamedLink | undefined;
}

/** Maximum number of packets sent per second, which a person and a page can follow. Further packets are only counted. */
const maxPerSecond = 1_000;
/** Maximum bytes buffered for a slow viewer; further packets are only counted. */
const maxWaitingBytes = 256 << 10;
const sampleMs = 1_000;

/**
 * Packets with the lab's node and link names, one JSON object per line. A slow viewer or a fast link uses no extra memory or time: packets that are
 * left out are counted, and reported once per second as {"sampled": {at, seen, told, dropped}}: how many packets the viewer asked for, how many of them were
 * sent, and how many the capture of the host lost.
 */
export class TrafficStream extends Readable {
  readonly #options: TrafficStreamOptions;
  readonly #timer: NodeJS.Timeout;
  #seen = 0;
  #sent = 0;
  #dropped = 0;

  constructor(options: TrafficStreamOptions) {
    super({ highWaterMark: maxWaitingBytes });
    this.#options = options;
    this.#timer = setInterval(() => this.#sendSample(), sampleMs);
    this.#timer.unref();
  }

  packet(linkId: string, packet: CapturedPacket, from: 0 | 1): void {
    const link = this.#options.link(linkId);
    if (link === undefined || this.destroyed) return;
    const filter = this.#filterOf(link, packet);
    if (filter === undefined && this.#options.onlyFiltered) return;
    this.#seen++;
    if (this.#sent >= maxPerSecond || this.readableLength > maxWaitingBytes) return;
    this.#sent++;
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
    // Nothing to do: packet() pushes each packet when it arrives.
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearInterval(this.#timer);
    done(error);
  }

  #filterOf(link: NamedLink, { data, length }: CapturedPacket): string | undefined {
    return this.#options.filters.find(({ links, program }) => (links === undefined || links.has(link.key)) && passes(program, data, length))
      ?.name;
  }

  #sendSample(): void {
    const sampled = { at: new Date().toISOString(), seen: this.#seen, told: this.#sent, dropped: this.#dropped };
    // Sent when the buffer has room; until then the counters continue.
    const left = this.#seen > this.#sent || this.#dropped > 0;
    if (left && this.readableLength > maxWaitingBytes) return;
    if (left) this.push(`${JSON.stringify({ sampled })}\n`);
    this.#seen = 0;
    this.#sent = 0;
    this.#dropped = 0;
  }
}

/** RFC 3339 with microseconds. */
function timeOf({ high, low }: CapturedPacket): string {
  const micros = ((BigInt(high) << 32n) | BigInt(low)) / 1000n;
  const text = new Date(Number(micros / 1000n)).toISOString();
  return `${text.slice(0, -1)}${String(micros % 1000n).padStart(3, "0")}Z`;
}
