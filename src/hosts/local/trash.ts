import { randomUUID } from "node:crypto";
import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectory } from "../../files/make-directory.ts";
import { runOnMachine, succeeded } from "./machine.ts";

/** Directories that are gone for everyone at once; their files go in the background, because nobody should wait for thousands of them. */
export interface Trash {
  /** Moves it away. One that is not there is gone already. */
  discard(path: string): Promise<void>;
  /** Resolves when all that was discarded is removed. */
  emptied(): Promise<void>;
}

/**
 * @param directory on the file system of what will be discarded; what a crash left in it is removed
 * @param warn told of what cannot be removed; it is tried again with the next open
 */
export async function openTrash(directory: string, warn: (text: string) => void): Promise<Trash> {
  await makeDirectory(directory, 0o700);
  let last: Promise<void> = Promise.resolve();
  const remove = (names: readonly string[]) => {
    last = last
      // One process for whole trees; it follows no links that a node planted.
      .then(async () => {
        const argv = ["rm", "-rf", "--", ...names.map((name) => join(directory, name))];
        succeeded(argv.slice(0, 3), await runOnMachine(argv));
      })
      .catch((error: Error) => warn(`what was thrown away is still in ${directory}: ${error.message}`));
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
    emptied: () => last,
  };
}
