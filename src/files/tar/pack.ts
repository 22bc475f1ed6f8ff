import { constants, type Stats } from "node:fs";
import { lstat, open, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { entryHead, type TarWrite, tarEnd } from "./tar-writer.ts";

export interface PackOptions {
  /** Name of the top entry in the archive. */
  readonly name: string;
  /** Keeps the numeric owners. Otherwise files belong to root. */
  readonly owners: boolean;
  /** Called with sockets and devices, which are left out. */
  readonly onSkipped: (path: string) => void;
}

/** Bytes of a file that are read at once. */
const piece = 1 << 20;

const types: readonly (readonly [(stats: Stats) => boolean, string])[] = [
  [(stats) => stats.isFile(), "0"],
  [(stats) => stats.isSymbolicLink(), "2"],
  [(stats) => stats.isDirectory(), "5"],
  [(stats) => stats.isFIFO(), "6"],
];

/**
 * Yields a tar archive of a file or folder, piece by piece. Symbolic links and hard links stay links. Throws if a file becomes shorter while it is read.
 */
export async function* pack(path: string, options: PackOptions): AsyncGenerator<Buffer, void, undefined> {
  yield* entriesOf(path, toLatin1(options.name), options, new Map());
  yield tarEnd;
}

async function* entriesOf(path: string, name: string, options: PackOptions, known: Map<string, string>): AsyncGenerator<Buffer> {
  const stats = await lstat(path);
  const type = types.find(([is]) => is(stats))?.[1];
  if (type === undefined) return options.onSkipped(path);
  const entry = { ...attributes(stats, options), name, type };
  const inode = `${stats.dev}:${stats.ino}`;
  const first = known.get(inode);
  if (type === "0" && first !== undefined) return yield entryHead({ ...entry, type: "1", link: first }, 0);
  if (type === "0") {
    if (stats.nlink > 1) known.set(inode, name);
    yield* fileOf(path, entry);
  } else if (type === "2") yield entryHead({ ...entry, link: (await readlink(path, { encoding: "latin1" })) as string }, 0);
  else yield entryHead(type === "5" ? { ...entry, name: `${name}/` } : entry, 0);
  if (type !== "5") return;
  const names = await readdir(path);
  for (const each of names.sort()) yield* entriesOf(join(path, each), `${name}/${toLatin1(each)}`, options, known);
}

async function* fileOf(path: string, entry: Omit<TarWrite, "data">): AsyncGenerator<Buffer> {
  // A FIFO that replaced the file would block the copy.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  const stats = await file.stat();
  if (!stats.isFile()) throw new Error(`${path} was replaced while it was read`);
  const { size } = stats;
  yield entryHead(entry, size);
  const read = (left: number) => file.read(Buffer.allocUnsafe(Math.min(left, piece)));
  // One piece ahead: the disk is read while the piece before it is sent.
  let next = size > 0 ? read(size) : undefined;
  for (let left = size; next !== undefined; ) {
    const { bytesRead, buffer }: Awaited<typeof next> = await next;
    if (bytesRead === 0) throw new Error(`${path} became shorter while it was read`);
    left -= bytesRead;
    next = left > 0 ? read(left) : undefined;
    next?.catch(() => {}); // thrown when it is awaited
    yield buffer.subarray(0, bytesRead);
  }
  yield Buffer.alloc((512 - (size % 512)) % 512);
}

function attributes(stats: Stats, { owners }: PackOptions): Omit<TarWrite, "name" | "data"> {
  const mtime = stats.mtimeMs / 1000;
  return owners ? { mode: stats.mode & 0o7777, uid: stats.uid, gid: stats.gid, mtime } : { mode: stats.mode & 0o7777, mtime };
}

/** The names of archives are bytes. */
function toLatin1(text: string): string {
  return Buffer.from(text).toString("latin1");
}
