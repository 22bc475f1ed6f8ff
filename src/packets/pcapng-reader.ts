/** One packet of a pcapng stream. */
export interface CapturedPacket {
  /** Capture time, ns since 1970, as two halves of 32 bits. */
  readonly high: number;
  readonly low: number;
  /** Length on the wire, bytes; `data` may be shorter. */
  readonly length: number;
  /** From the Ethernet header on. A view of the pushed bytes. */
  readonly data: Uint8Array;
  /** Direction, seen from the node of the interface. undefined: unknown. */
  readonly direction: "in" | "out" | undefined;
}

export interface PcapngListener {
  readonly packet: (packet: CapturedPacket) => void;
  /** Packets that were lost on the interface since the start of the stream. */
  readonly dropped?: (count: number) => void;
}

const sectionHeader = 0x0a0d0d0a;
const statistics = 5;
const enhancedPacket = 6;
const littleEndianMagic = 0x1a2b3c4d;
/** Largest block in Labwright's own files. */
const maxBlockBytes = 1 << 24;

/**
 * Splits a stream of little-endian pcapng bytes into packets, as Labwright writes them: one interface per section, time in ns. An incomplete block
 * waits for the next bytes. Throws RangeError for other data.
 */
export class PcapngReader {
  readonly #listener: PcapngListener;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(listener: PcapngListener) {
    this.#listener = listener;
  }

  push(chunk: Uint8Array): void {
    const bytes = this.#rest.length === 0 ? chunk : joined(this.#rest, chunk);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    while (bytes.length - at >= 12) {
      const type = view.getUint32(at, true);
      if (type === sectionHeader && view.getUint32(at + 8, true) !== littleEndianMagic)
        throw new RangeError("the capture is not little-endian pcapng");
      const length = view.getUint32(at + 4, true);
      if (length < 12 || length % 4 !== 0 || length > maxBlockBytes)
        throw new RangeError(`the capture is damaged: a block has ${length} bytes`);
      if (bytes.length - at < length) break;
      if (type === enhancedPacket) this.#listener.packet(packetIn(bytes, view, at, length));
      else if (type === statistics) this.#readDropped(view, at, length);
      at += length;
    }
    this.#rest = bytes.subarray(at);
  }

  #readDropped(view: DataView, start: number, length: number): void {
    const at = optionIn(view, start + 20, start + length - 4, 5);
    if (at !== undefined) this.#listener.dropped?.(Number(view.getBigUint64(at, true)));
  }
}

function packetIn(bytes: Uint8Array, view: DataView, start: number, length: number): CapturedPacket {
  const captured = length < 32 ? Number.POSITIVE_INFINITY : view.getUint32(start + 20, true);
  if (captured > length - 32) throw new RangeError("a pcapng packet longer than its block");
  const flagsAt = optionIn(view, start + 28 + Math.ceil(captured / 4) * 4, start + length - 4, 2);
  const way = flagsAt === undefined ? 0 : view.getUint32(flagsAt, true) & 3;
  return {
    high: view.getUint32(start + 12, true),
    low: view.getUint32(start + 16, true),
    length: view.getUint32(start + 24, true),
    data: bytes.subarray(start + 28, start + 28 + captured),
    direction: way === 1 ? "in" : way === 2 ? "out" : undefined,
  };
}

/** Returns the position of an option's value. */
function optionIn(view: DataView, from: number, end: number, wanted: number): number | undefined {
  for (let at = from; at + 4 <= end; at += 4 + Math.ceil(view.getUint16(at + 2, true) / 4) * 4) {
    const code = view.getUint16(at, true);
    if (code === wanted && at + 4 + view.getUint16(at + 2, true) <= end) return at + 4;
    if (code === 0) return undefined;
  }
  return undefined;
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
