import { randomBytes } from "node:crypto";
import { open, rename, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";

/**
 * A file that only takes room. A program that finds a full file system when it starts removes it, and has room to start; later, when there is room again, it is
 * made anew.
 */
export class Ballast {
  readonly #directory: string;
  readonly #file: string;
  #timer: NodeJS.Timeout | undefined;
  #making: Promise<void> = Promise.resolve();

  constructor(directory: string) {
    this.#directory = directory;
    this.#file = join(directory, "ballast");
  }

  /** Removes the file if the file system has less room than it takes. Returns whether it did. */
  async drop(): Promise<boolean> {
    const { free, bytes } = await this.#room();
    const there = await stat(this.#file).catch(ignoreMissing);
    if (there === undefined || free >= bytes) return false;
    await rm(this.#file, { force: true });
    return true;
  }

  /** Makes the file, now or as soon as there is room for it. */
  keep(): void {
    this.#making = this.#make()
      // Without it a start on a full disk is refused with words that say so: no reason to fail now.
      .catch(() => undefined)
      .finally(() => {
        this.#timer = setTimeout(() => this.keep(), lookMs).unref();
      });
  }

  async close(): Promise<void> {
    await this.#making;
    clearTimeout(this.#timer);
  }

  async #make(): Promise<void> {
    const { free, bytes } = await this.#room();
    const there = await stat(this.#file).catch(ignoreMissing);
    if ((there?.size ?? 0) >= bytes || free < spareFactor * bytes) return;
    const draft = `${this.#file}.tmp`;
    const handle = await open(draft, "w", 0o600);
    try {
      // A file system that compresses makes nothing of zeros.
      for (let left = bytes; left > 0; left -= pieceBytes) await handle.write(randomBytes(Math.min(left, pieceBytes)));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, this.#file);
  }

  /** Bytes that we may still write, and those that the file takes: a 16th of the file system, within bounds. */
  async #room(): Promise<{ readonly free: number; readonly bytes: number }> {
    const { blocks, bavail, bfree, bsize } = await statfs(this.#directory);
    const bytes = Math.min(mostBytes, Math.max(leastBytes, Math.floor((blocks * bsize) / 16)));
    return { free: (process.getuid?.() === 0 ? bfree : bavail) * bsize, bytes };
  }
}

const lookMs = 5_000;
const spareFactor = 4;
const pieceBytes = 2 ** 20;
const [leastBytes, mostBytes] = [2 ** 20, 8 * 2 ** 20];

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
