import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from "node:fs";

/** A failure to write is logged at most once in this time, ms. */
const quietMs = 60_000;

/** The audit log of the service: one JSON object per line. */
export interface AuditFile {
  /** Appends an entry. A full disk does not stop the service: the loss is logged. */
  record(entry: Readonly<Record<string, unknown>>): void;
  /** Opens the path again, after another program has renamed the file. Throws if it cannot be opened, and then keeps the old one. */
  reopen(): void;
  close(): void;
}

/**
 * Opens the file; a new one is for its owner alone. Throws if it cannot be opened.
 * @param log gets failures to write, and the number of lost entries
 */
export function openAuditFile(path: string, log: (text: string, fields: { readonly lost: number }) => void): AuditFile {
  let file = opened(path);
  /** Entries that were lost since the log had their number. */
  let lost = 0;
  let reported = Number.NEGATIVE_INFINITY;
  /** A part of an entry is in the file, without the end of its line. */
  let torn = endsWithin(path, file);
  const report = (text: string) => {
    log(text, { lost });
    reported = performance.now();
    lost = 0;
  };
  return {
    record: (entry) => {
      const line = Buffer.from(`${torn ? "\n" : ""}${JSON.stringify(entry)}\n`);
      try {
        // Synchronous, and before the answer: an answered change is in the log, also after a crash of the service.
        const written = writeSync(file, line);
        torn = written < line.length;
        if (torn) throw new Error("the disk took a part of an entry only");
        if (lost > 0) report("the audit log is written again, without the entries that were lost");
      } catch (error) {
        lost += 1;
        if (performance.now() - reported >= quietMs)
          report(`the audit log could not be written: ${(error as Error).message}; free space for it`);
      }
    },
    reopen: () => {
      const next = opened(path);
      closeSync(file);
      file = next;
      torn = endsWithin(path, file);
    },
    close: () => {
      if (lost > 0) report("the audit log could not be written");
      closeSync(file);
    },
  };
}

/** Returns whether the file ends within a line: a crash or a full disk has cut off its last entry. */
function endsWithin(path: string, file: number): boolean {
  const found = fstatSync(file);
  if (!found.isFile() || found.size === 0) return false;
  const reader = openSync(path, constants.O_RDONLY);
  try {
    const last = Buffer.alloc(1);
    return readSync(reader, last, 0, 1, found.size - 1) === 1 && last.toString() !== "\n";
  } finally {
    closeSync(reader);
  }
}

function opened(path: string): number {
  // Without blocking: the open of a pipe that nobody reads would never end.
  const file = openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK, 0o600);
  const found = fstatSync(file);
  if (found.isFile() || found.isCharacterDevice()) return file;
  closeSync(file);
  throw new Error(`${path} is not a regular file`);
}
