import { randomUUID } from "node:crypto";
import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { makeDirectory } from "../../../files/make-directory.ts";
import { runOnMachine, succeeded } from "../machine/machine.ts";

/** Removes directories: each is renamed at once, and its files are removed later in the background, so that no caller waits for thousands of files. */
export interface Trash {
  /** Moves the directory away. A missing directory is not an error. */
  discard(path: string): Promise<void>;
  /** Resolves when all discarded directories are removed. */
  emptied(): Promise<void>;
}

/**
 * @param directory on the file system of what will be discarded; what a crash left in it is removed
 * @param warn called for what cannot be removed; the next open tries again
 */
export async function openTrash(directory: string, warn: (text: string) => void): Promise<Trash> {
  await makeDirectory(directory, 0o700);
  const waiting: string[] = [];
  let work: Promise<void> | undefined;
  const removeAll = async () => {
    while (waiting.length > 0) {
      // Waits, so that the caller can answer its request first.
      await delay(pauseMs);
      // One `rm` process for whole trees. It follows no links that a node has made.
      const argv = ["rm", "-rf", "--", ...waiting.splice(0).map((name) => join(directory, name))];
      try {
        succeeded(argv.slice(0, 3), await runOnMachine(argv));
      } catch (error) {
        warn(`what was thrown away is still in ${directory}: ${(error as Error).message}`);
      }
    }
    work = undefined;
  };
  const remove = (names: readonly string[]) => {
    waiting.push(...names);
    work ??= removeAll();
  };
  const left = await readdir(directory);
  if (left.length > 0) remove(left);

  return {
    discard: async (path) => {
      const name = randomUUID();
      try {
        await rename(path, join(directory, name));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
        throw error;
      }
      remove([name]);
    },
    emptied: async () => work,
  };
}

const pauseMs = 100;
