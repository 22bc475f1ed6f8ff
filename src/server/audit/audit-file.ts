import { closeSync, openSync, writeSync } from "node:fs";

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

/** Opens the file, and creates it for its owner alone. Throws if it cannot be opened. @param failed called with a failure to write, and the number of lost entries */
export function openAuditFile(path: string, failed: (error: Error, lost: number) => void): AuditFile {
  const open = () => openSync(path, "a", 0o600);
  let file = open();
  let lost = 0;
  let reported = Number.NEGATIVE_INFINITY;
  return {
    record: (entry) => {
      try {
        // Synchronous, and before the answer: an answered change is in the log, also after a crash of the service.
        writeSync(file, `${JSON.stringify(entry)}\n`);
      } catch (error) {
        lost += 1;
        if (performance.now() - reported < quietMs) return;
        failed(error as Error, lost);
        reported = performance.now();
        lost = 0;
      }
    },
    reopen: () => {
      const next = open();
      closeSync(file);
      file = next;
    },
    close: () => closeSync(file),
  };
}
