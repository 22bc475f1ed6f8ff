import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { JobRow } from "./store.ts";

/**
 * Room that a full file system cannot take from the database: free pages inside its file, and a write-ahead log that has its blocks already. Small writes –
 * a login, the journal of a destroy – need no new block then. Only file systems that overwrite in place keep it so: not btrfs and ZFS.
 */
export class DatabaseRoom {
  readonly #db: DatabaseSync;
  readonly #directory: string;
  readonly #bytes: number;

  /** Makes the room, as far as the file system has it. */
  constructor(db: DatabaseSync, file: string) {
    this.#db = db;
    this.#directory = dirname(file);
    this.#bytes = file === ":memory:" ? 0 : roomFor(this.#directory);
    if (this.#bytes === 0) return;
    // Well before the log would outgrow its blocks it is written back and begins again.
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
   * Whether there is room for an ordinary change. The remaining room is reserved for changes that free space.
   * @param bytes size of the request; its job, the lab's new contents and the resulting host definition each take about as much
   */
  admits(bytes: number): boolean {
    if (this.#bytes === 0 || this.#free() >= this.#bytes / 2 + 3 * bytes) return true;
    const wanted = this.#bytes + 3 * bytes;
    // In the log and in the file.
    if (!this.#canGrow(2 * wanted)) return false;
    this.#writeThrough(wanted);
    return true;
  }

  /** After a large write: moves it from the log to the file while the file can grow. Data that is only in the log prevents its reuse once the disk is full. */
  settle(bytes: number): void {
    if (this.#bytes > 0 && bytes > this.#bytes / 8) this.rewind();
  }

  /** After a write that found no room: the log begins again in the blocks that it has. */
  rewind(): void {
    if (this.#bytes > 0) this.#db.exec("PRAGMA wal_checkpoint(RESTART)");
  }

  /** Closes the database; on a full disk without giving back the blocks of its log, which the next start would not get again. */
  close(): void {
    if (this.#bytes === 0 || this.#canGrow()) {
      this.#db.close();
      return;
    }
    try {
      this.rewind();
    } catch (error) {
      // Then the next start reads the log as it is.
      if (!isFull(error)) throw error;
    }
  }

  /** Bytes of free pages inside the file. */
  #free(): number {
    const { freelist_count: pages } = this.#db.prepare("PRAGMA freelist_count").get() as { freelist_count: number };
    return pages * pageSize;
  }

  /**
   * Far from full: pages that the log has and that the file cannot get any more would keep the log from ever beginning again, and nodes may write meanwhile.
   */
  #canGrow(by = 0): boolean {
    const { blocks, bavail, bsize } = statfsSync(this.#directory);
    return bavail * bsize > by + Math.min(enough, (blocks * bsize) / 8);
  }

  /** Writes this number of bytes to the log and from there to the file, and frees them in the file. */
  #writeThrough(bytes: number): void {
    const db = this.#db;
    // Of a start that was cut off.
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

/** Bytes; 0 if there is no file. */
function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Bytes: a 32nd of the file system, within bounds. */
function roomFor(directory: string): number {
  const { blocks, bsize } = statfsSync(directory);
  return Math.min(most, Math.max(least, Math.floor((blocks * bsize) / 32)));
}

/** SQLITE_FULL, and what a full file system gives instead in places. */
export function isFull(error: unknown): boolean {
  const { errcode } = error as { readonly errcode?: unknown };
  return typeof errcode === "number" && [13, 10].includes(errcode & 0xff);
}

/** Whether a change ends things and takes nothing: it must work on a full disk. */
export function makesRoom({ operation, request }: Pick<JobRow, "operation" | "request">): boolean {
  if (operation === "destroyProject") return true;
  return operation === "execProject" && (request as { readonly action?: unknown } | null)?.action !== "start";
}
