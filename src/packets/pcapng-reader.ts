/** One packet of a pcapng section, as it was captured. */
export interface CapturedPacket {
  /** Index of its interface within the section. */
  readonly interface: number;
  /** Time of the capture, ns since 1970, as two halves of 32 bits. */
  readonly high: number;
  readonly low: number;
  /** Length on the wire, bytes; `data` may be less of it. */
  readonly length: number;
  /** From the Ethernet header on. A view of what was pushed. */
  readonly data: Uint8Array;
}

const sectionHeader = 0x0a0d0d0a;
const interfaceDescription = 1;
const enhancedPacket = 6;
const littleEndianMagic = 0x1a2b3c4d;
/** No program of ours writes more: what says so is no pcapng. */
const longestBlock = 1 << 24;

/**
 * Cuts a stream of pcapng bytes into packets: little-endian sections whose interfaces count time in ns, as dumpcap and Labwright write
 * them. Throws RangeError for anything else. Several sections in a row are read as one; a block that is not whole yet waits for the next bytes.
 */
export class PcapngReader {
  #rest: Uint8Array = new Uint8Array(0);

  /** The packets that became whole with these bytes, in the order of the stream. */
  *push(chunk: Uint8Array): Generator<CapturedPacket, void, void> {
    const bytes = this.#rest.length === 0 ? chunk : joined(this.#rest, chunk);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    try {
      while (bytes.length - at >= 12) {
        const type = view.getUint32(at, true);
        if (type === sectionHeader && view.getUint32(at + 8, true) !== littleEndianMagic) throw new RangeError("no little-endian pcapng");
        const length = view.getUint32(at + 4, true);
        if (length < 12 || length % 4 !== 0 || length > longestBlock) throw new RangeError(`a pcapng block of ${length} bytes`);
        if (bytes.length - at < length) break;
        const start = at;
        at += length;
        if (type === enhancedPacket) yield packetIn(bytes, view, start, length);
        else if (type === interfaceDescription) checkInterface(view, start, length);
      }
    } finally {
      this.#rest = bytes.subarray(at);
    }
  }

  /** Bytes of a block that is not whole. */
  get waiting(): number {
    return this.#rest.length;
  }
}

function packetIn(bytes: Uint8Array, view: DataView, start: number, length: number): CapturedPacket {
  const captured = length < 32 ? Number.POSITIVE_INFINITY : view.getUint32(start + 20, true);
  if (captured > length - 32) throw new RangeError("a pcapng packet longer than its block");
  return {
    interface: view.getUint32(start + 8, true),
    high: view.getUint32(start + 12, true),
    low: view.getUint32(start + 16, true),
    length: view.getUint32(start + 24, true),
    data: bytes.subarray(start + 28, start + 28 + captured),
  };
}

/** Options of an interface: only their unit of time matters. */
function checkInterface(view: DataView, start: number, length: number): void {
  const end = start + length - 4;
  let resolution = 6;
  for (let at = start + 16; at + 4 <= end; ) {
    const code = view.getUint16(at, true);
    const size = view.getUint16(at + 2, true);
    if (code === 0) break;
    if (code === 9 && size === 1 && at + 5 <= end) resolution = view.getUint8(at + 4);
    at += 4 + Math.ceil(size / 4) * 4;
  }
  if (resolution !== 9) throw new RangeError("a pcapng interface that does not count in ns");
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
