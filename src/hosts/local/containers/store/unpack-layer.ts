import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fchownSync,
  futimesSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  type Stats,
  symlinkSync,
  writeSync,
} from "node:fs";
import { ArchiveError } from "../../../../files/tar/archive-error.ts";
import { readTar, type TarEntry } from "../../../../files/tar/tar-reader.ts";
import type { Budget } from "../archive/budget.ts";
import type { Bytes } from "../archive/decompress.ts";
import { diskPath, type ImagePath, joined, LayerTree, shown } from "./layer-tree.ts";
import { removeTree } from "./remove-tree.ts";
import { makeSpecialFiles, type SpecialFile } from "./special-files.ts";

export interface UnpackOptions {
  /** An empty directory that no other process writes to. */
  readonly root: string;
  /** Root directories of the layers below, top first. */
  readonly lower: readonly string[];
  /** The id on disk of the tree's root user. `undefined` if this process is not root: then all files belong to its user. */
  readonly idBase: number | undefined;
  readonly budget: Budget;
  /** The end of the tar archive may be missing: the layer has a digest. */
  readonly mayLackEnd?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** The result of unpacking a layer. */
export interface Unpacked {
  readonly bytes: number;
  readonly entries: number;
  /** Counts of left-out device nodes, extended attributes and owners outside the range. */
  readonly devices: number;
  readonly xattrs: number;
  readonly strangers: number;
}

/** Ids inside a lab are 0 to 65535; files of other owners belong to nobody. */
const maxId = 65_535;
const nobody = 65_534;
/** File systems give each file and directory whole blocks: a million small files take gigabytes. */
const blockBytes = 4096;

function paddingOf(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
}

/**
 * Unpacks the tar stream of one layer. Nothing is written outside its root: names with `..` are refused, links are followed only within the
 * image, and files are created, never opened. Device nodes and extended attributes are left out; owners are moved into the labs'
 * range of ids. Whiteouts become those of overlay. After an ArchiveError the caller must remove the root.
 */
export async function unpackLayer(stream: Bytes, options: UnpackOptions): Promise<Unpacked> {
  const layer = new LayerWriter(options);
  for await (const entry of readTar(stream, { mayLackEnd: options.mayLackEnd })) {
    options.signal?.throwIfAborted();
    options.budget.spendEntry();
    await layer.add(entry);
  }
  return layer.finish();
}

class LayerWriter {
  readonly #options: UnpackOptions;
  readonly #tree: LayerTree;
  readonly #below: LayerTree | undefined;
  /** Removed paths of the layers below, and opaque directories: those show only the entries of this layer. */
  readonly #gone = new Set<ImagePath>();
  readonly #opaque = new Set<ImagePath>();
  readonly #fifos: SpecialFile[] = [];
  #bytes = 0;
  #entries = 0;
  #devices = 0;
  #xattrs = 0;
  #strangers = 0;

  constructor(options: UnpackOptions) {
    this.#options = options;
    this.#tree = new LayerTree([options.root, ...options.lower]);
    this.#below = options.lower.length === 0 ? undefined : new LayerTree(options.lower);
  }

  async add(entry: TarEntry): Promise<void> {
    const path = this.#place(entry.name);
    this.#xattrs += entry.xattrs;
    if (path === undefined) {
      if (entry.type === "5") this.#finishDirectory("", entry);
      return;
    }
    this.#entries++;
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (name.startsWith(".wh.")) return this.#whiteout(path, name);
    switch (entry.type) {
      case "0":
      case "\0":
      case "7":
        return this.#file(path, entry);
      case "1":
        return this.#hardLink(path, entry);
      case "2":
        return this.#symbolicLink(path, entry);
      case "3":
      case "4":
        this.#devices++;
        return;
      case "5":
        return this.#directory(path, entry);
      // Returns a name as GNU tar writes it.
      case "V":
        return;
      case "6":
        this.#clear(path);
        this.#fifos.push({ kind: "fifo", path, mode: entry.mode, uid: this.#id(entry.uid), gid: this.#id(entry.gid) });
        return;
      default:
        throw new ArchiveError("bad_archive", `${shown(path)} is of a kind (${JSON.stringify(entry.type)}) that no file system has`);
    }
  }

  async finish(): Promise<Unpacked> {
    // By path: a file may be hidden both by name and by an opaque directory above it.
    const specials = new Map(this.#fifos.map((fifo) => [fifo.path, fifo]));
    if (this.#below !== undefined) {
      for (const path of [...this.#gone, ...this.#opaque].sort()) this.#hide(path, this.#below, specials);
    }
    await makeSpecialFiles(this.#options.root, [...specials.values()], this.#options.idBase);
    const [bytes, entries, devices, xattrs, strangers] = [this.#bytes, this.#entries, this.#devices, this.#xattrs, this.#strangers];
    return { bytes, entries, devices, xattrs, strangers };
  }

  /** Creates the parents of an entry and returns its path; undefined for the root itself. */
  #place(name: string): ImagePath | undefined {
    if (name.includes("\0")) throw new ArchiveError("unsafe_archive", `the name ${shown(name)} has a NUL in it`);
    const names = name.split("/").filter((one) => one !== "" && one !== ".");
    const spelled = names.join("/");
    if (names.includes("..")) throw new ArchiveError("unsafe_archive", `the name ${JSON.stringify(name)} leads upwards`);
    if (spelled.length > this.#options.budget.limits.path || names.some((one) => one.length > 255)) {
      throw new ArchiveError("unsafe_archive", `the name ${shown(spelled.slice(0, 60))}… is too long`);
    }
    const last = names.pop();
    if (last === undefined) return undefined;
    const parent = this.#tree.directory(names.join("/"));
    this.#makeParents(parent);
    return joined(parent, last);
  }

  /** Copies directories of the layers below with their owner and mode. New directories belong to root. */
  #makeParents(path: ImagePath): void {
    const names = path === "" ? [] : path.split("/");
    for (let count = 1; count <= names.length; count++) {
      const at = names.slice(0, count).join("/");
      if (this.#own(at) !== undefined) continue;
      const below = this.#tree.find(at)?.stats;
      this.#spend(blockBytes);
      mkdirSync(diskPath(this.#options.root, at), 0o700);
      const [uid, gid, mode] = below === undefined ? [this.#id(0), this.#id(0), 0o755] : [below.uid, below.gid, below.mode & 0o7777];
      this.#setOwner(at, uid, gid);
      chmodSync(diskPath(this.#options.root, at), mode);
      this.#tree.changed();
    }
  }

  /** Counts bytes on the disk. Throws ArchiveError too_large. */
  #spend(bytes: number): void {
    this.#options.budget.spendBytes(bytes);
    this.#bytes += bytes;
  }

  #own(path: ImagePath): Stats | undefined {
    return lstatSync(diskPath(this.#options.root, path), { throwIfNoEntry: false });
  }

  /** Removes the earlier entry of this layer at the path. */
  #clear(path: ImagePath): void {
    // FIFOs are not on the disk yet.
    for (let i = this.#fifos.length - 1; i >= 0; i--) {
      const { path: other } = this.#fifos[i]!;
      if (other === path || other.startsWith(`${path}/`)) this.#fifos.splice(i, 1);
    }
    if (this.#own(path) === undefined) return;
    removeTree(diskPath(this.#options.root, path));
    this.#tree.changed();
  }

  async #file(path: ImagePath, entry: TarEntry): Promise<void> {
    this.#clear(path);
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
    let size = 0;
    const fd = openSync(diskPath(this.#options.root, path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      for await (const chunk of entry.data()) {
        this.#spend(chunk.length);
        size += chunk.length;
        for (let at = 0; at < chunk.length; ) at += writeSync(fd, chunk, at);
      }
      this.#spend(paddingOf(size));
      // A change of the owner removes the set-user-id bit, so the mode is set afterwards.
      if (this.#options.idBase !== undefined) fchownSync(fd, this.#id(entry.uid), this.#id(entry.gid));
      fchmodSync(fd, entry.mode);
      futimesSync(fd, entry.mtime, entry.mtime);
    } finally {
      closeSync(fd);
    }
    this.#tree.changed();
  }

  #hardLink(path: ImagePath, entry: TarEntry): void {
    const names = entry.link.split("/").filter((one) => one !== "" && one !== ".");
    const refused = (why: string) =>
      new ArchiveError("unsafe_archive", `${shown(path)} is a hard link to ${JSON.stringify(entry.link)}, ${why}`);
    if (names.includes("..") || entry.link.includes("\0")) throw refused("which leads upwards");
    const last = names.pop();
    if (last === undefined) throw refused("which is not a file");
    const target = joined(this.#tree.directory(names.join("/")), last);
    const found = this.#tree.find(target);
    const link = found?.stats.isSymbolicLink() === true;
    if (found === undefined || !(link || found.stats.isFile())) throw refused("which is not a file of the image before it");
    if (target === path) return;
    // A hard link to a symbolic link becomes a second, equal symbolic link. Its target is not checked.
    const leads = link ? readlinkSync(diskPath(found.root, target), "buffer") : undefined;
    this.#clear(path);
    if (leads !== undefined) {
      symlinkSync(leads, diskPath(this.#options.root, path));
      this.#setOwner(path, found.stats.uid, found.stats.gid);
      this.#tree.changed();
      return;
    }
    const to = diskPath(this.#options.root, path);
    if (found.root === this.#options.root) linkSync(diskPath(found.root, target), to);
    else {
      // The target is in a layer below: copies it into this layer, as overlay does for a file that gets a second name.
      this.#spend(found.stats.size + paddingOf(found.stats.size));
      copyFileSync(diskPath(found.root, target), to, constants.COPYFILE_EXCL);
      this.#setOwner(path, found.stats.uid, found.stats.gid);
      chmodSync(to, found.stats.mode & 0o7777);
    }
    this.#tree.changed();
  }

  #symbolicLink(path: ImagePath, entry: TarEntry): void {
    if (entry.link === "" || entry.link.includes("\0") || entry.link.length > 4095) {
      throw new ArchiveError("bad_archive", `${shown(path)} is a symbolic link to nothing that a path can be`);
    }
    this.#clear(path);
    symlinkSync(Buffer.from(entry.link, "latin1"), diskPath(this.#options.root, path));
    this.#setOwner(path, this.#id(entry.uid), this.#id(entry.gid));
    this.#tree.changed();
  }

  #directory(path: ImagePath, entry: TarEntry): void {
    if (this.#own(path)?.isDirectory() !== true) {
      this.#clear(path);
      this.#spend(blockBytes);
      mkdirSync(diskPath(this.#options.root, path), 0o700);
      this.#tree.changed();
    }
    this.#finishDirectory(path, entry);
  }

  #finishDirectory(path: ImagePath, entry: TarEntry): void {
    this.#setOwner(path, this.#id(entry.uid), this.#id(entry.gid));
    // If this process is not root, it needs write access to add entries later.
    chmodSync(diskPath(this.#options.root, path), this.#options.idBase === undefined ? entry.mode | 0o700 : entry.mode);
  }

  #whiteout(path: ImagePath, name: string): void {
    const parent = path.slice(0, Math.max(0, path.length - name.length - 1));
    if (name === ".wh..wh..opq") this.#opaque.add(parent);
    // Other names of this form are metadata of the storage driver that made the archive.
    else if (!name.startsWith(".wh..wh.")) {
      const hidden = name.slice(".wh.".length);
      if (["", ".", ".."].includes(hidden)) throw new ArchiveError("unsafe_archive", `the whiteout ${shown(path)} names no file`);
      this.#gone.add(joined(parent, hidden));
    }
  }

  /** Hides the entries of the layers below at the path; entries of this layer stay. */
  #hide(path: ImagePath, below: LayerTree, specials: Map<ImagePath, SpecialFile>): void {
    const slash = path.lastIndexOf("/");
    if (path !== "" && !this.#isOwnDirectory(slash < 0 ? "" : path.slice(0, slash))) return;
    const found = below.find(path);
    if (found === undefined) return;
    const own = this.#own(path);
    if (own === undefined) {
      if (!specials.has(path)) specials.set(path, { kind: "whiteout", path, mode: 0, uid: this.#id(0), gid: this.#id(0) });
    } else if (own.isDirectory() && found.stats.isDirectory()) {
      for (const name of below.names(path)) this.#hide(joined(path, name), below, specials);
    }
  }

  /** Returns whether this layer has the directory, without a link in its path. */
  #isOwnDirectory(path: ImagePath): boolean {
    const names = path === "" ? [] : path.split("/");
    return names.every((_, i) => this.#own(names.slice(0, i + 1).join("/"))?.isDirectory() === true);
  }

  #id(inside: number): number {
    if (inside > maxId) this.#strangers++;
    return (this.#options.idBase ?? 0) + (inside > maxId ? nobody : inside);
  }

  #setOwner(path: ImagePath, uid: number, gid: number): void {
    if (this.#options.idBase !== undefined) lchownSync(diskPath(this.#options.root, path), uid, gid);
  }
}
