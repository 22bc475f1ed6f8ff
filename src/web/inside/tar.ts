/** Size of a header, and the unit of contents. */
const block = 512;

const regular = new Set(["0", "\0", "7"]);

/** The parts of an archive around the bytes of one file. */
export interface TarFrame {
  readonly before: Uint8Array<ArrayBuffer>;
  readonly after: Uint8Array<ArrayBuffer>;
}

/** Returns the bytes that make an archive of one file: the header, and the end after its contents. */
export function tarFrame(name: string, size: number, modifiedAt: number): TarFrame {
  const seconds = Math.max(0, Math.floor(modifiedAt / 1000));
  const isPlain = /^[\x20-\x7e]{1,100}$/.test(name) && size < 8 ** 11;
  const extended = isPlain ? [] : [...paxRecord("path", name), ...paxRecord("size", String(size))];
  const headers = [
    ...(isPlain ? [] : [header("pax", extended.length, seconds, "x"), Uint8Array.from(extended), padding(extended.length)]),
    header(isPlain ? name : "file", isPlain ? size : Math.min(size, 8 ** 11 - 1), seconds, "0"),
  ];
  return { before: joined(headers), after: joined([padding(size), new Uint8Array(2 * block)]) };
}

/** Returns the contents of the first regular file of an archive; undefined if its first entry is none, such as a folder. Throws Error for no archive. */
export async function firstFile(archive: Blob): Promise<Blob | undefined> {
  for (let at = 0, size: number | undefined; at + block <= archive.size; ) {
    const head = new Uint8Array(await archive.slice(at, at + block).arrayBuffer());
    if (head.every((byte) => byte === 0)) return undefined;
    if (text(head, 257, 5) !== "ustar") throw new Error("the node sent no tar archive");
    const type = String.fromCharCode(head[156]!);
    const length = size ?? numberIn(head.subarray(124, 136));
    size = undefined;
    if (regular.has(type)) return archive.slice(at + block, at + block + length);
    if (type !== "x" && type !== "g" && type !== "L" && type !== "K") return undefined;
    if (type === "x") {
      const pax = await archive.slice(at + block, at + block + length).text();
      const given = /^\d+ size=(\d+)$/m.exec(pax)?.[1];
      if (given !== undefined) size = Number(given);
    }
    at += block + length + padding(length).length;
  }
  return undefined;
}

function header(name: string, size: number, seconds: number, type: string): Uint8Array {
  const head = new Uint8Array(block);
  const put = (at: number, value: string) => head.set(new TextEncoder().encode(value), at);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  put(0, name);
  put(100, "0000644\0");
  put(108, "0000000\0");
  put(116, "0000000\0");
  put(124, `${octal(size, 11)}\0`);
  put(136, `${octal(seconds, 11)}\0`);
  put(148, "        ");
  put(156, type);
  put(257, "ustar\x0000");
  const sum = head.reduce((total, byte) => total + byte, 0);
  put(148, `${octal(sum, 6)}\0 `);
  return head;
}

/** The length of a record counts its own digits. */
function paxRecord(key: string, value: string): Uint8Array {
  const rest = new TextEncoder().encode(` ${key}=${value}\n`);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return joined([new TextEncoder().encode(String(length)), rest]);
}

function padding(size: number): Uint8Array {
  return new Uint8Array((block - (size % block)) % block);
}

/** Octal digits, or for large numbers bytes after one with its highest bit set. */
function numberIn(field: Uint8Array): number {
  if ((field[0]! & 0x80) !== 0) return field.subarray(1).reduce((value, byte) => value * 256 + byte, 0);
  return Number.parseInt(text(field, 0, field.length), 8) || 0;
}

function text(bytes: Uint8Array, at: number, length: number): string {
  return new TextDecoder().decode(bytes.subarray(at, at + length)).replace(/\0.*$/s, "");
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
