import { lstat, readdir, readlink } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import type { UnpackedPackage } from "./packages.ts";

/** A file or symbolic link of an unpacked package, with its path on a merged-/usr system. */
export interface IndexedFile {
  readonly path: string;
  readonly package: UnpackedPackage;
  /** Its path on the machine. */
  readonly source: string;
  /** For a symbolic link: its target as a path of the image, absolute. */
  readonly target?: string;
}

/** Returns all files of the packages by their paths. */
export async function indexFiles(packages: readonly UnpackedPackage[]): Promise<ReadonlyMap<string, IndexedFile>> {
  const index = new Map<string, IndexedFile>();
  for (const pkg of packages) await walk(pkg, "/", index);
  return index;
}

/** Maps /bin/x to /usr/bin/x, as in every Debian since 12. */
export function mergedUsr(path: string): string {
  return /^\/(bin|sbin|lib|lib32|lib64|libx32)\//.test(path) ? `/usr${path}` : path;
}

/** Omits documentation, translations and the package manager's own files, which nodes do not need. */
const left = new Set(["/usr/share/doc", "/usr/share/man", "/usr/share/locale", "/usr/share/lintian", "/usr/share/bug"]);

async function walk(pkg: UnpackedPackage, directory: string, index: Map<string, IndexedFile>): Promise<void> {
  if (left.has(directory)) return;
  for (const entry of await readdir(join(pkg.tree, directory), { withFileTypes: true })) {
    const original = join(directory, entry.name);
    const source = join(pkg.tree, original);
    if (entry.isDirectory()) {
      await walk(pkg, original, index);
    } else if (entry.isSymbolicLink()) {
      const path = mergedUsr(original);
      const target = mergedUsr(posix.resolve(dirname(original), await readlink(source)));
      if (target !== path) index.set(path, { path, package: pkg, source, target });
    } else if ((await lstat(source)).isFile()) {
      const path = mergedUsr(original);
      index.set(path, { path, package: pkg, source });
    }
  }
}
