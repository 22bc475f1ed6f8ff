import type { Bytes } from "./decompress.ts";
import { broken, parseHeader, parsePax, type TarHeader, withPax } from "./tar-header.ts";

export interface TarEntry extends TarHeader {
  /** Where its data begins in the archive. */
  readonly offset: number;
  /** Extended attributes that it brought; they are not kept. */
  readonly xattrs: number;
  /** Its data, once. What is not read is skipped. */
  readonly data: () => Bytes;
}

const mostPax = 1024 * 1024;
const mostName = 64 * 1024;

/**
 * The entries of a tar archive as they come: ustar, pax and GNU long names. Reads the source to its end, also behind the archive's, so
 * that a digest over it is whole. Throws ArchiveError bad_archive.
 */
export async function* readTar(source: Bytes): AsyncGenerator<TarEntry, void, undefined> {
  const blocks = new BlockReader(source);
  let global: ReadonlyMap<string, string> = new Map();
  let local: ReadonlyMap<string, string> | undefined;
  let longName: string | undefined;
  let longLink: string | undefined;
  try {
    for (;;) {
      const at = blocks.position;
      const block = await blocks.take(512);
      if (block.length < 512) throw broken(at, "it is cut off");
      const raw = parseHeader(block, at);
      if (raw === undefined) break;
      const whole = async (most: number): Promise<Buffer> => {
        if (raw.size > most) throw broken(at, `its extended header has ${raw.size} bytes`);
        const data = await blocks.take(padded(raw.size));
        if (data.length < raw.size) throw broken(at, "it is cut off");
        return data.subarray(0, raw.size);
      };
      if (raw.type === "g") global = new Map([...global, ...parsePax(await whole(mostPax), at)]);
      else if (raw.type === "x") local = parsePax(await whole(mostPax), at);
      else if (raw.type === "L") longName = untilNul(await whole(mostName));
      else if (raw.type === "K") longLink = untilNul(await whole(mostName));
      else {
        const pax = new Map([...global, ...(local ?? [])]);
        const long = { ...raw, name: longName ?? raw.name, link: longLink ?? raw.link };
        const header = withPax(long, pax, at);
        if (raw.type === "S" || [...pax.keys()].some((key) => key.startsWith("GNU.sparse."))) throw broken(at, "sparse files are not read");
        const size = hasData(header.type) ? header.size : 0;
        const offset = blocks.position;
        const end = offset + padded(size);
        async function* data(): Bytes {
          for (let left = size - (blocks.position - offset); left > 0; ) {
            const chunk = await blocks.some(left);
            if (chunk.length === 0) throw broken(at, "its data is cut off");
            left -= chunk.length;
            yield chunk;
          }
        }
        const xattrs = [...pax.keys()].filter((key) => /^(SCHILY\.xattr|LIBARCHIVE\.xattr)\./.test(key)).length;
        yield { ...header, size, offset, xattrs, data };
        await blocks.skip(end - blocks.position, () => broken(at, "its data is cut off"));
        local = longName = longLink = undefined;
      }
    }
    while ((await blocks.some(1024 * 1024)).length > 0);
  } finally {
    await blocks.close();
  }
}

/** Links, directories and devices have none, whatever their size says. */
function hasData(type: string): boolean {
  return !"123456".includes(type);
}

function padded(size: number): number {
  return Math.ceil(size / 512) * 512;
}

function untilNul(data: Buffer): string {
  const end = data.indexOf(0);
  return data.toString("latin1", 0, end < 0 ? data.length : end);
}

class BlockReader {
  readonly #iterator: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);
  position = 0;

  constructor(source: Bytes) {
    this.#iterator = source[Symbol.asyncIterator]();
  }

  /** As many bytes as there are at once, at most so many; none at the end. */
  async some(most: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#iterator.next();
      if (done === true) return this.#rest;
      this.#rest = value;
    }
    const chunk = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(chunk.length);
    this.position += chunk.length;
    return chunk;
  }

  /** So many bytes; fewer at the end. */
  async take(count: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let left = count; left > 0; ) {
      const chunk = await this.some(left);
      if (chunk.length === 0) break;
      parts.push(chunk);
      left -= chunk.length;
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }

  async skip(count: number, missing: () => Error): Promise<void> {
    for (let left = count; left > 0; ) {
      const chunk = await this.some(left);
      if (chunk.length === 0) throw missing();
      left -= chunk.length;
    }
  }

  async close(): Promise<void> {
    await this.#iterator.return?.();
  }
}
