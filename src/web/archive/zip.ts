const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = table[(crc ^ byte) & 0xff]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** Names and texts are UTF-8. */
const utf8 = 0x0800;
/** 1980-01-01, the first date that the format has. */
const date = 0x21;

/** Returns a zip file with the texts, by path, not compressed: configurations of labs are small. */
export function zipOf(files: ReadonlyMap<string, string>): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const [path, text] of files) {
    const [name, data] = [encoder.encode(path), encoder.encode(text)];
    const fields = [20, utf8, 0, 0, date] as const;
    const sizes = [crc32(data), data.length, data.length] as const;
    const header = record(0x04034b50, fields, sizes, [name.length, 0]);
    directory.push(record(0x02014b50, [20, ...fields], sizes, [name.length, 0, 0, 0, 0], [0, offset]), name);
    parts.push(header, name, data);
    offset += header.length + name.length + data.length;
  }
  const size = lengthOf(directory);
  const end = record(0x06054b50, [0, 0, files.size, files.size], [size, offset], [0]);
  const all = [...parts, ...directory, end];
  const zip = new Uint8Array(lengthOf(all));
  let at = 0;
  for (const part of all) {
    zip.set(part, at);
    at += part.length;
  }
  return zip;
}

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** Encodes a signature, then in turn lists of 16-bit and of 32-bit numbers. */
function record(signature: number, ...lists: readonly (readonly number[])[]): Uint8Array {
  const size = 4 + lists.reduce((sum, list, at) => sum + list.length * (at % 2 === 0 ? 2 : 4), 0);
  const view = new DataView(new ArrayBuffer(size));
  view.setUint32(0, signature, true);
  let at = 4;
  for (const [index, list] of lists.entries()) {
    for (const value of list) {
      if (index % 2 === 0) view.setUint16(at, value, true);
      else view.setUint32(at, value, true);
      at += index % 2 === 0 ? 2 : 4;
    }
  }
  return new Uint8Array(view.buffer);
}
