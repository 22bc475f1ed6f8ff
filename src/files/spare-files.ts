import { randomBytes } from "node:crypto";
import { open, readdir, rename, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectory } from "./make-directory.ts";

/** Files with allocated blocks: on a full disk, required writes go into one of them, and no node can take its space before. */
export interface Spares {
  /** Moves a spare file of at least this many bytes to the path. Returns false if there is none. */
  take(path: string, bytes: number): Promise<boolean>;
}

export interface SpareFiles extends Spares {
  close(): Promise<void>;
}

const count = 8;
const refillMs = 5_000;
const [minBytes, maxBytes] = [64 * 1024, 2 ** 20];

/** The spare files of a state directory. */
export function sparesOf(stateDir: string): Spares {
  const directory = spareDirectory(stateDir);
  return {
    take: async (path, bytes) => {
      const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return [];
        throw error;
      });
      for (const name of names.filter((one) => /^\d+$/.test(one))) {
        try {
          // A file that is too small stays for other writes: growing it would need free blocks.
          if ((await stat(join(directory, name))).size < bytes) continue;
          await rename(join(directory, name), path);
          return true;
        } catch (error) {
          // Another write took it.
          if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
        }
      }
      return false;
    },
  };
}

function spareDirectory(stateDir: string): string {
  return join(stateDir, "spare");
}

/** Makes the files, and replaces used ones as soon as there is space. */
export async function openSpareFiles(stateDir: string, warn: (text: string) => void): Promise<SpareFiles> {
  const directory = spareDirectory(stateDir);
  await makeDirectory(directory, 0o700);
  let timer: NodeJS.Timeout | undefined;
  let work: Promise<void> = Promise.resolve();
  let isClosed = false;

  async function refill(): Promise<void> {
    const { blocks, bavail, bsize } = await statfs(directory);
    const bytes = Math.min(maxBytes, Math.max(minBytes, Math.floor((blocks * bsize) / 256)));
    const names = new Set(await readdir(directory));
    for (let i = 0, left = bavail * bsize; i < count; i++) {
      if (names.has(String(i))) continue;
      left -= bytes;
      if (left < 2 * count * bytes) return later();
      await makeSpare(join(directory, String(i)), bytes);
    }
  }

  function make(): Promise<void> {
    work = work.then(refill).catch((error: Error) => {
      warn(`${directory}: the reserve for a full disk could not be created: ${error.message}`);
    });
    return work;
  }

  function later(): void {
    if (isClosed) return;
    clearTimeout(timer);
    timer = setTimeout(make, refillMs).unref();
  }

  await make();
  return {
    take: async (path, bytes) => {
      later();
      return sparesOf(stateDir).take(path, bytes);
    },
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      await work;
    },
  };
}

async function makeSpare(file: string, bytes: number): Promise<void> {
  const draft = `${file}.tmp`;
  try {
    const handle = await open(draft, "w", 0o600);
    try {
      // Random bytes: a file system that compresses allocates no blocks for zeros.
      await handle.writeFile(randomBytes(bytes));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
