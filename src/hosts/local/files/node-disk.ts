import { closeSync, constants, fstatSync, ftruncateSync, openSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";

const maxBytes = 1024 * 1024;

/**
 * Reads and writes files of a node's disk from outside, while the node may create anything there. Follows no link, opens only plain files, and never
 * blocks. The disk contains only the differences from the image.
 */
export interface NodeDisk {
  /** Returns `undefined` if the file is missing, not a plain file, or over 1 MiB. */
  read(path: string): Buffer | undefined;
  /** Returns whether a plain file of any size exists there. */
  has(path: string): boolean;
  /** Overwrites an existing file. */
  rewrite(path: string, text: string): void;
  remove(path: string): void;
}

/** @param directory the disk, as in NodeSpawn.disk */
export function nodeDisk(directory: string): NodeDisk {
  return treeFiles(join(directory, "upper"));
}

/**
 * Reads text files of several trees laid over each other, top first, as an overlay shows them if no link is on the way.
 * Returns `undefined` if the file is missing, not a plain file, or over 1 MiB.
 */
export function treeReader(trees: readonly string[]): (path: string) => string | undefined {
  const all = trees.map(treeFiles);
  return (path) => {
    for (const tree of all) {
      const bytes = tree.read(path);
      if (bytes !== undefined) return bytes.toString("utf8");
    }
    return undefined;
  };
}

function treeFiles(top: string): NodeDisk {
  function inDirectory<T>(path: string, use: (entry: string) => T): T | undefined {
    const names = path.split("/").filter((name) => name !== "");
    const last = names.pop();
    if (last === undefined) return undefined;
    let held = openOrUndefined(top, constants.O_DIRECTORY);
    try {
      for (const name of names) {
        if (held === undefined) return undefined;
        // Uses the descriptor, so that the node cannot replace a parent directory meanwhile.
        const next = openOrUndefined(`/proc/self/fd/${held}/${name}`, constants.O_DIRECTORY);
        closeSync(held);
        held = next;
      }
      return held === undefined ? undefined : use(`/proc/self/fd/${held}/${last}`);
    } finally {
      if (held !== undefined) closeSync(held);
    }
  }

  function withFile<T>(path: string, flags: number, use: (file: number) => T): T | undefined {
    return inDirectory(path, (entry) => {
      const file = openOrUndefined(entry, flags | constants.O_NONBLOCK);
      if (file === undefined) return undefined;
      try {
        return fstatSync(file).isFile() ? use(file) : undefined;
      } finally {
        closeSync(file);
      }
    });
  }

  return {
    read: (path) => withFile(path, constants.O_RDONLY, (file) => (fstatSync(file).size > maxBytes ? undefined : readFileSync(file))),
    has: (path) => withFile(path, constants.O_RDONLY, () => true) ?? false,
    rewrite: (path, text) => {
      withFile(path, constants.O_WRONLY, (file) => {
        ftruncateSync(file);
        writeSync(file, text, 0);
      });
    },
    remove: (path) => {
      inDirectory(path, (entry) => {
        try {
          unlinkSync(entry);
        } catch (error) {
          if (!isAbsent(error)) throw error;
        }
      });
    },
  };
}

function openOrUndefined(path: string, flags: number): number | undefined {
  try {
    return openSync(path, flags | constants.O_NOFOLLOW);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** Errors for a missing file or for another type: a link, a directory, a device without a driver. */
function isAbsent(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP", "EISDIR", "ENXIO", "EPERM", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "");
}
