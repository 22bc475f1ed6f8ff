import { statfs } from "node:fs/promises";

/** A start needs less than this; with less, whatever it failed with came of the full disk. Bytes. */
const leastRoom = 256 * 1024;

/** Why the service did not start, in one line. What programs say of a full disk does not always name it. */
export async function startTrouble(error: unknown, stateDir: string | undefined): Promise<string> {
  const said = error instanceof Error ? error.message : String(error);
  // A directory that is not there has no room either, and what was said tells of it.
  const room = stateDir === undefined ? undefined : await statfs(stateDir).catch(() => undefined);
  if (room === undefined || room.bavail * room.bsize >= leastRoom) return said;
  return `the file system of ${stateDir} is full: free space on it and start again; labs run on meanwhile (${said})`;
}
