import { randomBytes } from "node:crypto";
import { open, rename, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { ifThere } from "./if-there.ts";

/**
 * A file that reserves disk space. A program that starts on a full file system removes the file, and then has the space to start. The file is recreated
 * when there is space again.
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

  /** Removes the file if the file system has less free space than the file. Returns whether it was removed. */
  async drop(): Promise<boolean> {
    const { free, bytes } = await this.#room();
    const there = await ifThere(stat(this.#file));
    if (there === undefined || free >= bytes) return false;
    await rm(this.#file, { force: true });
    return true;
  }

  /** Makes the file, now or as soon as there is space for it. */
  keep(): void {
    this.#making = this.#make()
      // Without the file, a later start on a full disk fails with a clear error: no reason to fail now.
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
    const there = await ifThere(stat(this.#file));
    if ((there?.size ?? 0) >= bytes || free < spareFactor * bytes) return;
    const draft = `${this.#file}.tmp`;
    const handle = await open(draft, "w", 0o600);
    try {
      // Random bytes: a file system that compresses allocates no blocks for zeros.
      for (let left = bytes; left > 0; left -= pieceBytes) await handle.write(randomBytes(Math.min(left, pieceBytes)));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, this.#file);
  }

  /** Returns the free bytes, and the bytes of the file: a 16th of the file system, within limits. */
  async #room(): Promise<{ readonly free: number; readonly bytes: number }> {
    const { blocks, bavail, bfree, bsize } = await statfs(this.#directory);
    const bytes = Math.min(maxBytes, Math.max(minBytes, Math.floor((blocks * bsize) / 16)));
    return { free: (process.getuid?.() === 0 ? bfree : bavail) * bsize, bytes };
  }
}

const lookMs = 5_000;
const spareFactor = 4;
const pieceBytes = 2 ** 20;
const [minBytes, maxBytes] = [2 ** 20, 8 * 2 ** 20];
