/** The description of a frame, filled in from the outside in. */
export interface Decoded {
  /** With tshark's names: eth, vlan, ip, tcp, bgp … */
  readonly protocols: string[];
  /** Describes the innermost layer that is understood. */
  summary: string;
}

/** Bytes of one layer. Reading beyond their end throws RangeError, which ends the description there. */
export class Layer {
  readonly bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get length(): number {
    return this.bytes.length;
  }

  u8(at: number): number {
    return this.#view.getUint8(at);
  }

  u16(at: number): number {
    return this.#view.getUint16(at);
  }

  u32(at: number): number {
    return this.#view.getUint32(at);
  }

  /** Returns the bytes behind these, at most `length`. */
  inner(at: number, length = Number.POSITIVE_INFINITY): Layer {
    return new Layer(this.bytes.subarray(at, Math.max(at, Math.min(at + length, this.bytes.length))));
  }

  hex(at: number, length: number, separator = ""): string {
    return this.#cut(at, length)
      .map((byte) => byte.toString(16).padStart(2, "0"))
      .join(separator);
  }

  mac(at: number): string {
    return this.hex(at, 6, ":");
  }

  ipv4(at: number): string {
    return this.#cut(at, 4).join(".");
  }

  ipv6(at: number): string {
    const groups = Array.from({ length: 8 }, (_, i) => this.u16(at + i * 2).toString(16));
    return shortest(groups);
  }

  /** Printable ASCII; any other byte as a dot. */
  text(at: number, length: number): string {
    return this.#cut(at, length)
      .map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "."))
      .join("");
  }

  #cut(at: number, length: number): number[] {
    if (at < 0 || at + length > this.bytes.length) throw new RangeError("the frame ends before");
    return [...this.bytes.subarray(at, at + length)];
  }
}

/** RFC 5952: the longest run of zeros is left out. */
function shortest(groups: readonly string[]): string {
  let best = { at: -1, length: 1 };
  for (let at = 0; at < 8; at++) {
    let length = 0;
    while (at + length < 8 && groups[at + length] === "0") length++;
    if (length > best.length) best = { at, length };
  }
  if (best.at < 0) return groups.join(":");
  return `${groups.slice(0, best.at).join(":")}::${groups.slice(best.at + best.length).join(":")}`;
}
