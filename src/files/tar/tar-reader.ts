import { broken, readHeader, type TarHeader } from "./tar-header.ts";

type Bytes = AsyncIterable<Buffer>;

export interface TarEntry extends TarHeader {
  /** Position of its data in the archive, bytes. */
  readonly offset: number;
  /** The entry's data, which can be read once. Unread data is skipped. */
  readonly data: () => Bytes;
}

export interface TarOptions {
  /** Maximum number of bytes beyond the end, for a source that may never end. Default: no limit. */
  readonly maxRest?: number;
  /** The block of zeros at the end may be missing, as in layers of umoci: for sources whose digest shows whether they are whole. */
  readonly mayLackEnd?: boolean | undefined;
}

/**
 * The entries of a tar archive in their order: ustar, pax and GNU long names. Reads the source to its end, also beyond the end of the
 * archive, so that a digest covers all of it. Throws ArchiveError bad_archive.
 * @param source the memory of a chunk may be reused when the next one is asked for
 */
export async function* readTar(
  source: Bytes,
  { maxRest = Number.POSITIVE_INFINITY, mayLackEnd }: TarOptions = {},
): AsyncGenerator<TarEntry, void, undefined> {
  const blocks = new BlockReader(source);
  try {
    for (;;) {
      const at = blocks.position;
      const header = await readHeader(() => blocks.take(512), at, mayLackEnd);
      if (header === undefined) break;
      const size = hasData(header.type) ? header.size : 0;
      const offset = blocks.position;
      const end = offset + Math.ceil(size / 512) * 512;
      async function* data(): Bytes {
        for (let left = size - (blocks.position - offset); left > 0; ) {
          const chunk = await blocks.some(left);
          if (chunk.length === 0) throw broken(at, "its data is cut off");
          left -= chunk.length;
          yield chunk;
        }
      }
      yield { ...header, size, offset, data };
      await blocks.skip(end - blocks.position, () => broken(at, "its data is cut off"));
    }
    const end = blocks.position;
    while ((await blocks.some(1024 * 1024)).length > 0) if (blocks.position - end > maxRest) throw broken(end, "too much follows the end");
  } finally {
    await blocks.close();
  }
}

/** Links, directories and devices have no data. Their size field is ignored. */
function hasData(type: string): boolean {
  return !"123456".includes(type);
}

class BlockReader {
  readonly #iterator: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);
  position = 0;

  constructor(source: Bytes) {
    this.#iterator = source[Symbol.asyncIterator]();
  }

  /** Returns the available bytes, at most `max`. Empty at the end. */
  async some(max: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#iterator.next();
      if (done === true) return this.#rest;
      this.#rest = value;
    }
    const chunk = this.#rest.subarray(0, max);
    this.#rest = this.#rest.subarray(chunk.length);
    this.position += chunk.length;
    return chunk;
  }

  /** Returns a copy of `count` bytes, fewer at the end: the source may reuse the memory of its chunks. */
  async take(count: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let left = count; left > 0; ) {
      const chunk = await this.some(left);
      if (chunk.length === 0) break;
      parts.push(Buffer.from(chunk));
      left -= chunk.length;
    }
    return Buffer.concat(parts);
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
