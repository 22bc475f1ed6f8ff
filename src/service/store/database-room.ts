import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { JobRow } from "./store.ts";

/**
 * Reserves space for the database on a full disk: free pages inside its file, and a write-ahead log with allocated blocks. Small writes, such as a
 * login or the journal of a destroy, then need no new blocks. This works only on file systems that overwrite in place, not on btrfs and ZFS.
 */
export class DatabaseRoom {
  readonly #db: DatabaseSync;
  readonly #directory: string;
  readonly #bytes: number;

  /** Reserves the space, as far as the file system has it. */
  constructor(db: DatabaseSync, file: string) {
    this.#db = db;
    this.#directory = dirname(file);
    this.#bytes = file === ":memory:" ? 0 : roomFor(this.#directory);
    if (this.#bytes === 0) return;
    // The log is written back and restarted well before it exceeds its allocated blocks.
    db.exec(`PRAGMA wal_autocheckpoint = ${Math.floor(this.#bytes / pageSize / 2)}`);
    try {
      // If the file cannot grow, its free pages are written once, so that the log has disk blocks.
      this.#writeThrough(this.#canGrow() ? this.#bytes : Math.floor(this.#free() * 0.9));
    } catch (error) {
      // A log from an earlier start already has its disk blocks. Without a log no login could be stored.
      if (!isFull(error) || sizeOf(`${file}-wal`) < this.#bytes / 2) throw error;
    }
  }

  /**
   * Returns whether there is space for an ordinary change. The remaining room is reserved for changes that free space.
   * @param bytes size of the request; its job, the lab's new contents, the state in its history and the resulting host definition each take about as much
   */
  admits(bytes: number): boolean {
    if (this.#bytes === 0 || this.#free() >= this.#bytes / 2 + 4 * bytes) return true;
    const wanted = this.#bytes + 4 * bytes;
    // In the log and in the file.
    if (!this.#canGrow(2 * wanted)) return false;
    this.#writeThrough(wanted);
    return true;
  }

  /**
   * Called after a large write. Moves it from the log to the file while the file can grow: on a full disk, data that is only in the log would prevent
   * the log's reuse. With ample space, SQLite's own checkpoints are in time.
   */
  settle(bytes: number): void {
    if (this.#bytes > 0 && bytes > this.#bytes / 8 && !this.#canGrow(ample)) this.rewind();
  }

  /** Called after a write without enough space. Restarts the log in its allocated blocks. */
  rewind(): void {
    if (this.#bytes > 0) this.#db.exec("PRAGMA wal_checkpoint(RESTART)");
  }

  /** Closes the database. On a full disk it keeps the blocks of the log, because the next start could not allocate them again. */
  close(): void {
    if (this.#bytes === 0 || this.#canGrow()) {
      this.#db.close();
      return;
    }
    try {
      this.rewind();
    } catch (error) {
      // The next start then reads the existing log.
      if (!isFull(error)) throw error;
    }
  }

  /** Returns the size of the free pages inside the file, bytes. */
  #free(): number {
    const { freelist_count: pages } = this.#db.prepare("PRAGMA freelist_count").get() as { freelist_count: number };
    return pages * pageSize;
  }

  /**
   * Checked long before the disk is full, because nodes may fill it meanwhile: if the file could not take the log's pages any more, the log could
   * never be restarted.
   */
  #canGrow(by = 0): boolean {
    const { blocks, bavail, bsize } = statfsSync(this.#directory);
    return bavail * bsize > by + Math.min(enough, (blocks * bsize) / 8);
  }

  /** Writes this number of bytes to the log and from there to the file, and frees them in the file. */
  #writeThrough(bytes: number): void {
    const db = this.#db;
    // The table of a start that was cut off.
    db.exec("DROP TABLE IF EXISTS room");
    try {
      // Written in one transaction and dropped in the next: pages freed in the same transaction would get no disk blocks.
      db.exec(`BEGIN; CREATE TABLE room (bytes BLOB) STRICT; INSERT INTO room VALUES (zeroblob(${bytes})); COMMIT`);
      this.rewind();
    } finally {
      if (db.isTransaction) db.exec("ROLLBACK");
      db.exec("DROP TABLE IF EXISTS room");
    }
  }
}

const pageSize = 4096;
const [least, most, enough] = [256 * 1024, 4 * 2 ** 20, 64 * 2 ** 20];

/** Bytes that nodes do not fill between two large writes. */
const ample = 2 ** 30;

/** Bytes; 0 if there is no file. */
function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Returns the bytes to reserve: a 32nd of the file system, within limits. */
function roomFor(directory: string): number {
  const { blocks, bsize } = statfsSync(directory);
  return Math.min(most, Math.max(least, Math.floor((blocks * bsize) / 32)));
}

/** SQLITE_FULL, and the other errors of SQLite on a full file system. */
export function isFull(error: unknown): boolean {
  const { errcode } = error as { readonly errcode?: unknown };
  return typeof errcode === "number" && [13, 10].includes(errcode & 0xff);
}

/** Returns whether a change only frees resources, so that it must work on a full disk. */
export function makesRoom({ operation, request }: Pick<JobRow, "operation" | "request">): boolean {
  if (operation === "destroyProject") return true;
  return operation === "execProject" && (request as { readonly action?: unknown } | null)?.action !== "start";
}
