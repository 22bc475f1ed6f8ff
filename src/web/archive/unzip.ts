/** Limits of an archive that is read. */
const maxFiles = 1_000;
const maxBytes = 16 * 2 ** 20;

/** Why an archive cannot be read, for people. */
export class ArchiveError extends Error {}

/** Reads the texts of a zip file, by path. Throws ArchiveError for other files, for paths outside of the archive, and for too much data. */
export async function readZip(bytes: Uint8Array<ArrayBuffer>): Promise<ReadonlyMap<string, string>> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = endOf(view);
  const count = view.getUint16(end + 10, true);
  if (count > maxFiles) throw new ArchiveError(`The archive has ${count} files. At most ${maxFiles} are read.`);
  const files = new Map<string, string>();
  let left = maxBytes;
  let at = view.getUint32(end + 16, true);
  for (let index = 0; index < count; index++) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== 0x02014b50) throw damaged();
    const [method, compressed] = [view.getUint16(at + 10, true), view.getUint32(at + 20, true)];
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((field) => view.getUint16(at + field, true)) as [
      number,
      number,
      number,
    ];
    const local = view.getUint32(at + 42, true);
    const path = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    at += 46 + nameLength + extraLength + commentLength;
    if (path.endsWith("/")) continue;
    if (path.startsWith("/") || path.split(/[/\\]/).includes("..")) throw new ArchiveError(`The path ${path} leads out of the archive.`);
    const data = await contentOf(bytes, view, { local, method, compressed, left });
    left -= data.length;
    files.set(path, textOf(data, path));
  }
  return files;
}

interface Entry {
  readonly local: number;
  readonly method: number;
  readonly compressed: number;
  /** Bytes that may still be read. */
  readonly left: number;
}

async function contentOf(bytes: Uint8Array<ArrayBuffer>, view: DataView, { local, method, compressed, left }: Entry): Promise<Uint8Array> {
  if (local + 30 > bytes.length || view.getUint32(local, true) !== 0x04034b50) throw damaged();
  const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
  const data = bytes.subarray(start, start + compressed);
  if (data.length < compressed) throw damaged();
  if (method === 0) return checkedSize(data, left);
  if (method !== 8) throw new ArchiveError("The archive uses a compression that is not supported. Use deflate, as zip does by default.");
  const reader = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read().catch((): never => {
      throw damaged();
    });
    if (done) break;
    size += value.length;
    // A small archive can contain gigabytes.
    if (size > left) {
      await reader.cancel();
      throw tooLarge();
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}

function checkedSize(data: Uint8Array, left: number): Uint8Array {
  if (data.length > left) throw tooLarge();
  return data;
}

function textOf(data: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data);
  } catch {
    throw new ArchiveError(`${path} is not text. Remove it from the archive.`);
  }
}

/** Returns the position of the end record, which a comment may follow. */
function endOf(view: DataView): number {
  for (let at = view.byteLength - 22; at >= Math.max(0, view.byteLength - 22 - 0xffff); at--) {
    if (view.getUint32(at, true) === 0x06054b50) return at;
  }
  throw new ArchiveError("This is not a zip file, or it is incomplete.");
}

function damaged(): ArchiveError {
  return new ArchiveError("The zip file is damaged.");
}

function tooLarge(): ArchiveError {
  return new ArchiveError(`The archive has more than ${maxBytes / 2 ** 20} MiB of data.`);
}
