import { closeSync, openSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { makeDirectory } from "../../files/make-directory.ts";
import { serviceAt } from "./service-file.ts";
import { unusableStateDir } from "./unusable-state-dir.ts";

/**
 * Holds a state directory, made where it is missing, for this process: two services on one would each finish the other's jobs. A lock of the kernel on a file there,
 * taken by SQLite since Node has none: it goes with the process, however that ends, and counts in every container and namespace that sees
 * the file. Throws when another process holds it, and when nothing can be kept there.
 */
export async function holdStateDir(stateDir: string): Promise<{ release(): Promise<void> }> {
  const directory = await madeReady(stateDir).catch(async (error: unknown) => {
    throw await unusableStateDir(stateDir, error);
  });
  const file = join(directory, lockName);
  const lock = new DatabaseSync(file);
  try {
    // Nothing is written there, and a journal on disk would need room for its header.
    lock.exec(`PRAGMA busy_timeout = ${patienceMs}; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE`);
  } catch (error) {
    lock.close();
    const { errcode } = error as { readonly errcode?: number };
    if (errcode !== busy) throw error;
    const other = await serviceAt(directory);
    const who = other === undefined ? "" : ` (${other.url}, process ${other.pid})`;
    throw new Error(
      `another service runs on the state directory ${stateDir}${who}: end that one first, or give this one another --state-dir`,
    );
  }
  return { release: async () => lock.close() };
}

const lockName = "service.lock";

/** Made where it is missing, with a lock file that can be written; its real path. */
async function madeReady(stateDir: string): Promise<string> {
  await makeDirectory(stateDir, 0o700);
  const directory = await realpath(stateDir);
  closeSync(openSync(join(directory, lockName), "a", 0o600)); // SQLite would make it readable by all
  return directory;
}

/** Of two that take the lock at the same moment each is in the other's way for an instant: without patience neither would have it. */
const patienceMs = 300;

/** SQLITE_BUSY */
const busy = 5;
