import { lstatSync, readdirSync, readlinkSync, type Stats } from "node:fs";
import { ArchiveError } from "../../../../files/tar/archive-error.ts";

/**
 * Paths below an image's root: no slash at either end, "" for the root. Bytes as latin1, as a file name need not be UTF-8.
 */
export type ImagePath = string;

/** A path of the machine for calls of node:fs. */
export function diskPath(root: string, path: ImagePath): Buffer {
  const top = Buffer.from(root);
  return path === "" ? top : Buffer.concat([top, Buffer.from(`/${path}`, "latin1")]);
}

export function shown(path: ImagePath): string {
  return JSON.stringify(`/${Buffer.from(path, "latin1").toString("utf8")}`);
}

export function joined(directory: ImagePath, name: string): ImagePath {
  return directory === "" ? name : `${directory}/${name}`;
}

const maxLinks = 40;

/**
 * The tree that a stack of layers shows, the first on top, as overlay merges them. Nobody else may write to the layers during use. Symbolic links
 * are followed only as text within the tree: `..` ends at its root and an absolute target begins there.
 */
export class LayerTree {
  readonly #roots: readonly string[];
  /** Directory → the roots that have it, top first. */
  readonly #directories = new Map<ImagePath, readonly string[]>();

  constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  /** Clears the cache. Must be called after changes other than new names. */
  changed(): void {
    this.#directories.clear();
  }

  /** Returns the entry at the path, whose parents must be real directories. Does not follow a link. */
  find(path: ImagePath): { readonly stats: Stats; readonly root: string } | undefined {
    return path === "" ? { stats: lstatSync(this.#roots[0]!), root: this.#roots[0]! } : this.#stack(path)[0];
  }

  /**
   * Returns the real path of a directory. Follows links on the way; missing parts stay unchanged. @throws ArchiveError unsafe_archive for a loop of
   * links, or if a part of the path is not a directory
   */
  directory(path: ImagePath): ImagePath {
    const left = path.split("/").filter((name) => name !== "");
    let at: ImagePath = "";
    let links = 0;
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      if (name === ".") continue;
      if (name === "..") {
        at = at.includes("/") ? at.slice(0, at.lastIndexOf("/")) : "";
        continue;
      }
      const next = joined(at, name);
      if (this.#directories.has(next)) {
        at = next;
        continue;
      }
      const found = this.find(next);
      if (found === undefined || found.stats.isDirectory()) at = next;
      else if (found.stats.isSymbolicLink()) {
        links++;
        if (links > maxLinks) throw new ArchiveError("unsafe_archive", `${shown(path)} leads through links in a circle`);
        const target = readlinkSync(diskPath(found.root, next), "latin1");
        if (target.startsWith("/")) at = "";
        left.unshift(...target.split("/").filter((one) => one !== ""));
      } else throw new ArchiveError("unsafe_archive", `${shown(path)} leads through ${shown(next)}, which is not a directory`);
    }
    return at;
  }

  /** Names in a real directory. */
  names(path: ImagePath): readonly string[] {
    const names = new Set<string>();
    for (const root of this.#contributors(path)) for (const name of readdirSync(diskPath(root, path), "latin1")) names.add(name);
    return [...names].filter((name) => this.find(joined(path, name)) !== undefined).sort();
  }

  /** Returns the entries at the path: of a directory one for each layer that has it, otherwise only the topmost. */
  #stack(path: ImagePath): readonly { readonly stats: Stats; readonly root: string }[] {
    const slash = path.lastIndexOf("/");
    const found: { readonly stats: Stats; readonly root: string }[] = [];
    for (const root of this.#contributors(slash < 0 ? "" : path.slice(0, slash))) {
      const stats = lstatSync(diskPath(root, path), { throwIfNoEntry: false });
      if (stats === undefined) continue;
      if (isWhiteout(stats)) break;
      if (!stats.isDirectory()) return found.length > 0 ? found : [{ stats, root }];
      found.push({ stats, root });
    }
    return found;
  }

  #contributors(path: ImagePath): readonly string[] {
    if (path === "") return this.#roots;
    const known = this.#directories.get(path);
    if (known !== undefined) return known;
    const stack = this.#stack(path);
    if (stack[0]?.stats.isDirectory() !== true) return [];
    const roots = stack.map(({ root }) => root);
    this.#directories.set(path, roots);
    return roots;
  }
}

/** Returns whether the entry is a whiteout: overlay hides an entry of a lower layer with a character device 0, 0. */
export function isWhiteout(stats: Stats): boolean {
  return stats.isCharacterDevice() && stats.rdev === 0;
}
