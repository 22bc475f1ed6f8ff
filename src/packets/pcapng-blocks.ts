const sectionHeader = 0x0a0d0d0a;
const interfaceDescription = 1;
const enhancedPacket = 6;
/** Largest block in Labwright's own files: a larger length means that the data is not pcapng. */
const maxBlockBytes = 1 << 24;

/**
 * Returns a function that takes chunks of a little-endian pcapng stream, and returns their whole blocks; a block that is cut off waits for the next chunk.
 * With `dropHeader`, the section header and interface descriptions at the start are left out, so that the result can continue another file of the same
 * interface. The function throws RangeError for other data.
 */
export function wholeBlocks({ dropHeader }: { readonly dropHeader: boolean }): (chunk: Uint8Array) => Uint8Array {
  let rest: Uint8Array = new Uint8Array(0);
  let inHeader = dropHeader;
  return (chunk) => {
    const bytes = rest.length === 0 ? chunk : joined(rest, chunk);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let from = 0;
    let at = 0;
    while (bytes.length - at >= 8) {
      const type = view.getUint32(at, true);
      const length = view.getUint32(at + 4, true);
      if (length < 12 || length % 4 !== 0 || length > maxBlockBytes)
        throw new RangeError(`the capture is damaged: a block has ${length} bytes`);
      if (bytes.length - at < length) break;
      at += length;
      if (inHeader && (type === sectionHeader || type === interfaceDescription)) from = at;
      else inHeader = false;
    }
    rest = bytes.subarray(at);
    return bytes.subarray(from, at);
  };
}

/** Counts the packets of a pcapng stream and cuts it behind the last of `maxPackets`; later packets are dropped. */
export class PacketLimit {
  readonly #maxPackets: number;
  readonly #whole = wholeBlocks({ dropHeader: false });
  #packets = 0;

  constructor(maxPackets = Number.POSITIVE_INFINITY) {
    this.#maxPackets = maxPackets;
  }

  get packets(): number {
    return this.#packets;
  }

  get reached(): boolean {
    return this.#packets >= this.#maxPackets;
  }

  /** Returns the part of these bytes, and of earlier incomplete ones, that is passed on. */
  take(chunk: Uint8Array): Uint8Array {
    const bytes = this.#whole(chunk);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    while (at < bytes.length && !this.reached) {
      if (view.getUint32(at, true) === enhancedPacket) this.#packets++;
      at += view.getUint32(at + 4, true);
    }
    return bytes.subarray(0, at);
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
