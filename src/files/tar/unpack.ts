import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { chmod, type FileHandle, lchown, link, lstat, lutimes, mkdir, open, rename, rm, symlink, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ifThere } from "../if-there.ts";
import { ArchiveError } from "./archive-error.ts";
import { readTar, type TarEntry } from "./tar-reader.ts";

export interface UnpackOptions {
  /** An existing folder. Nothing outside of it is written, even by a hostile archive. */
  readonly folder: string;
  /** The first part of each name in the archive; other names are refused. */
  readonly expected: string;
  /** Replaces the first part of each name. */
  readonly top: string;
  /** Keeps the numeric owners and all mode bits. Otherwise files belong to this user, without setuid, setgid and sticky bits. */
  readonly owners: boolean;
  readonly maxBytes: number;
  readonly maxEntries: number;
  /** Called with the names of devices, sockets and FIFOs, which are left out. */
  readonly onSkipped: (name: string) => void;
  /** Called with the bytes that were written since the last call. */
  readonly onBytes: (count: number) => void;
}

/** Maximum number of bytes after the end of an archive. tar fills its last record with at most 64 KiB. */
const maxRest = 1 << 20;

/**
 * Unpacks a tar archive that nobody checked. Names with `..`, absolute names and hard links to anything but a file of the archive are refused. No symbolic
 * link is followed: those of the archive are made last, and a file of the archive replaces a link that is in its place. Throws ArchiveError, also for an
 * archive without an entry below `expected`.
 * @param source the memory of a chunk may be reused when the next one is asked for
 */
export async function unpack(source: AsyncIterable<Buffer>, options: UnpackOptions): Promise<void> {
  const unpacking = new Unpacking(options);
  for await (const entry of readTar(source, { maxRest })) await unpacking.take(entry);
  await unpacking.finish();
}

class Unpacking {
  readonly #options: UnpackOptions;
  /** Folders that are known to be folders, and no links. */
  readonly #folders = new Set<string>([""]);
  readonly #files = new Set<string>();
  readonly #links = new Map<string, TarEntry>();
  /** Folders of the archive. Their modes and times are set last: a folder may be read-only. */
  readonly #modes = new Map<string, TarEntry>();
  /** The name of a file until it is complete. No archive knows it. */
  readonly #part = `.labwright-${randomBytes(6).toString("hex")}.part`;
  #entries = 0;
  #bytes = 0;
  #isEmpty = true;

  constructor(options: UnpackOptions) {
    this.#options = options;
  }

  async take(entry: TarEntry): Promise<void> {
    if (++this.#entries > this.#options.maxEntries) throw new ArchiveError("too_large", `more than ${this.#options.maxEntries} files`);
    const name = this.#nameOf(entry.name);
    if (name === "") return;
    this.#isEmpty = false;
    switch (entry.type) {
      case "0":
      case "\0":
      case "7":
        return await this.#file(name, entry);
      case "1":
        return await this.#hardLink(name, entry);
      case "2":
        await this.#makeRoom(name);
        this.#files.delete(name);
        this.#links.set(name, entry);
        return;
      case "5":
        await this.#folder(name);
        this.#modes.set(name, entry);
        return;
      default:
        this.#options.onSkipped(name);
    }
  }

  /** Makes the symbolic links, and sets modes and times of the folders, the deepest first. */
  async finish(): Promise<void> {
    if (this.#isEmpty) throw new ArchiveError("bad_archive", "the archive is empty");
    for (const [name, { link: target, ...entry }] of this.#links) {
      await symlink(Buffer.from(target, "latin1"), this.#path(name));
      if (this.#options.owners) await lchown(this.#path(name), entry.uid, entry.gid);
      await lutimes(this.#path(name), entry.mtime, entry.mtime);
    }
    for (const [name, entry] of [...this.#modes].sort(([a], [b]) => b.length - a.length)) {
      const path = this.#path(name);
      if (this.#options.owners) await lchown(path, entry.uid, entry.gid);
      await chmod(path, this.#modeOf(entry));
      await utimes(path, entry.mtime, entry.mtime);
    }
  }

  async #file(name: string, entry: TarEntry): Promise<void> {
    await this.#checkRoom(name);
    const made = join(dirname(this.#path(name)), this.#part);
    try {
      await this.#write(made, entry);
      await rename(made, this.#path(name));
    } catch (error) {
      // An incomplete file never has the name, and one that was there before stays.
      await rm(made, { force: true });
      throw error;
    }
    this.#files.add(name);
  }

  async #write(path: string, entry: TarEntry): Promise<void> {
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
    await using file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    await this.#writeData(file, entry);
    if (this.#options.owners) await file.chown(entry.uid, entry.gid);
    await file.chmod(this.#modeOf(entry));
    await file.utimes(entry.mtime, entry.mtime);
  }

  async #writeData(file: FileHandle, entry: TarEntry): Promise<void> {
    for await (const chunk of entry.data()) {
      this.#bytes += chunk.length;
      if (this.#bytes > this.#options.maxBytes) throw new ArchiveError("too_large", `more than ${this.#options.maxBytes} bytes`);
      for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
      this.#options.onBytes(chunk.length);
    }
  }

  async #hardLink(name: string, entry: TarEntry): Promise<void> {
    const target = this.#nameOf(entry.link);
    if (!this.#files.has(target)) throw unsafe(name, `it is a hard link to ${JSON.stringify(target)}, which is not a file of the archive`);
    if (target === name) return;
    await this.#makeRoom(name);
    await link(this.#path(target), this.#path(name));
    this.#files.add(name);
  }

  async #folder(name: string): Promise<void> {
    if (this.#folders.has(name)) return;
    await this.#parent(name);
    if (this.#links.has(name) || this.#files.has(name)) throw unsafe(name, "the archive has it twice, once as a folder");
    const found = await statOf(this.#path(name));
    if (found === undefined) await mkdir(this.#path(name), 0o700);
    else if (!found.isDirectory()) throw unsafe(name, "this is not a folder on this machine");
    this.#folders.add(name);
  }

  async #parent(name: string): Promise<void> {
    const at = name.lastIndexOf("/");
    if (at > 0) await this.#folder(name.slice(0, at));
  }

  /** Removes a file or link in the place of a new entry. */
  async #makeRoom(name: string): Promise<void> {
    await this.#checkRoom(name);
    await rm(this.#path(name), { force: true });
  }

  /** Throws if a folder is in the place of a new entry. Makes the folder around it. */
  async #checkRoom(name: string): Promise<void> {
    await this.#parent(name);
    this.#links.delete(name);
    if ((await statOf(this.#path(name)))?.isDirectory() === true) throw unsafe(name, "this is a folder on this machine");
  }

  /** Returns the name below the folder, without empty parts and single dots. A name that is not an UTF-8 gets replacement characters. */
  #nameOf(latin1: string): string {
    const name = Buffer.from(latin1, "latin1").toString("utf8");
    const parts = name.split("/").filter((part) => part !== "" && part !== ".");
    if (name.startsWith("/") || parts.includes("..") || name.includes("\0")) throw unsafe(name, "its name leads out of the folder");
    const { expected, top } = this.#options;
    if (parts.length === 0) return "";
    if (parts[0] !== expected) throw unsafe(name, `only ${JSON.stringify(expected)} was asked for`);
    return [top, ...parts.slice(1)].join("/");
  }

  #path(name: string): string {
    return join(this.#options.folder, name);
  }

  #modeOf({ mode }: TarEntry): number {
    return this.#options.owners ? mode : mode & 0o777;
  }
}

function unsafe(name: string, why: string): ArchiveError {
  return new ArchiveError("unsafe_archive", `${JSON.stringify(name)}: ${why}`);
}

async function statOf(path: string): Promise<Awaited<ReturnType<typeof lstat>> | undefined> {
  return await ifThere(lstat(path));
}
