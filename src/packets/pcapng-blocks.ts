const sectionHeader = 0x0a0d0d0a;
const interfaceDescription = 1;
/** Labwright's own files have no larger block: what says so is none. */
const longestBlock = 1 << 24;

/**
 * Cuts little-endian pcapng bytes at the end of the last whole block. With `dropHeader` section headers and interface descriptions are left
 * out, so that what comes of it goes on where another file of the same interface ended. Throws RangeError for what is no pcapng.
 */
export function withoutHeader(dropHeader: boolean): (chunk: Uint8Array) => Uint8Array {
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
      if (length < 12 || length % 4 !== 0 || length > longestBlock) throw new RangeError(`a pcapng block of ${length} bytes`);
      if (bytes.length - at < length) break;
      at += length;
      if (inHeader && (type === sectionHeader || type === interfaceDescription)) from = at;
      else inHeader = false;
    }
    rest = bytes.subarray(at);
    return bytes.subarray(from, at);
  };
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
