import { closeSync, openSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { makeDirectory } from "../../files/make-directory.ts";
import { serviceAt } from "./service-file.ts";
import { unusableStateDir } from "./unusable-state-dir.ts";

/**
 * Locks a state directory for this process and creates the directory if it is missing. Two services on one directory would each finish the other's jobs.
 * The lock is a kernel lock on a file in the directory. SQLite takes it, because Node has no function for it. It ends with the process in any case, and it
 * works across all containers and namespaces that see the file. Throws if another process has the lock, or if the directory cannot be written.
 */
export async function holdStateDir(stateDir: string): Promise<{ release(): Promise<void> }> {
  const directory = await madeReady(stateDir).catch(async (error: unknown) => {
    throw await unusableStateDir(stateDir, error);
  });
  const file = join(directory, lockName);
  const lock = new DatabaseSync(file);
  try {
    // In memory: a journal file needs disk space for its header, and the lock must work on a full disk.
    lock.exec(`PRAGMA busy_timeout = ${patienceMs}; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE`);
  } catch (error) {
    lock.close();
    const { errcode } = error as { readonly errcode?: number };
    if (errcode !== busy) throw error;
    const other = await serviceAt(directory);
    const who = other === undefined ? "" : ` (${other.url}, process ${other.pid})`;
    throw new Error(
      `another service runs on the state directory ${stateDir}${who}: stop that service first, or give this one another --state-dir`,
    );
  }
  return { release: async () => lock.close() };
}

const lockName = "service.lock";

/** Creates the directory and a writable lock file if they are missing. Returns the real path of the directory. */
async function madeReady(stateDir: string): Promise<string> {
  await makeDirectory(stateDir, 0o700);
  const directory = await realpath(stateDir);
  closeSync(openSync(join(directory, lockName), "a", 0o600)); // SQLite would create it readable for all users
  return directory;
}

/** If two processes take the lock at the same moment, each blocks the other for an instant. Without waiting, neither would get it. */
const patienceMs = 300;

/** SQLITE_BUSY */
const busy = 5;
