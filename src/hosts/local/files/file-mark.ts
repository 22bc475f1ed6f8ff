import { type BigIntStats, statSync } from "node:fs";
import { stat } from "node:fs/promises";

/** Returns a text that changes when the file is written or replaced, `undefined` if there is no file. */
export async function fileMark(file: string): Promise<string | undefined> {
  return stat(file, { bigint: true }).then(markOf, none);
}

/** The same as fileMark, but synchronous: some microseconds, for a file that every request checks. */
export function fileMarkNow(file: string): string | undefined {
  try {
    return markOf(statSync(file, { bigint: true }));
  } catch (error) {
    return none(error);
  }
}

function markOf({ ino, mtimeNs, size }: BigIntStats): string {
  return `${ino} ${mtimeNs} ${size}`;
}

function none(error: unknown): undefined {
  if (!["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
}
