import { randomUUID } from "node:crypto";
import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import { ifThere } from "../../../files/if-there.ts";
import { writeFileAtomic } from "../../../files/write-file-atomic.ts";
import type { DiskCopy } from "../../host-disks.ts";
import type { Trash } from "../files/trash.ts";
import { makeTraversableDirectory } from "../files/traversable-directory.ts";
import { isUuid } from "../machine/uuid.ts";

/** transfer.json in `<state>/transfers/<id>`. The bytes of disk i are in the file i. */
export interface Transfer {
  readonly version: 1;
  readonly id: string;
  readonly direction: "export" | "import";
  readonly user: string;
  readonly lab: string;
  /** ms since 1970. */
  readonly begun: number;
  readonly disks: readonly DiskCopy[];
}

/** Time after which a transfer is removed, ms. */
export const transferMs = 24 * 3_600_000;
/** Transfers that one user can have; a further one removes the oldest. */
const maxPerUser = 4;

/** The transfers on disk. They expire, also after a crash. */
export class TransferStore {
  readonly #directory: string;
  readonly #trash: Trash;

  /** @param directory on the file system of the labs */
  private constructor(directory: string, trash: Trash) {
    this.#directory = directory;
    this.#trash = trash;
  }

  /**
   * Opens the transfers when the service starts. Removes those that had not begun for their user when the last service ended: nobody has their id, and copies of
   * disks are large.
   */
  static async open(directory: string, trash: Trash): Promise<TransferStore> {
    const store = new TransferStore(directory, trash);
    for (const name of await store.#names()) if ((await store.#read(name)) === undefined) await trash.discard(join(directory, name));
    return store;
  }

  file(id: string, index: number): string {
    return join(this.#directory, id, String(index));
  }

  directory(id: string): string {
    return join(this.#directory, id);
  }

  /** Returns the transfers of a user, the oldest first. Removes expired transfers of all users. */
  async of(user: string): Promise<readonly Transfer[]> {
    const found: Transfer[] = [];
    for (const name of await this.#names()) {
      const transfer = await this.#read(name);
      const begun = transfer?.begun ?? (await this.#madeAt(name));
      if (begun !== undefined && begun + transferMs < Date.now()) await this.#trash.discard(join(this.#directory, name));
      else if (transfer?.user === user) found.push(transfer);
    }
    return found.sort((a, b) => a.begun - b.begun);
  }

  /** Makes room for a new transfer of the user, and returns its id and directory. It exists for others once it is kept. */
  async begin(user: string): Promise<{ readonly id: string; readonly directory: string }> {
    await makeTraversableDirectory(this.#directory);
    const all = await this.of(user);
    for (const { id } of all.slice(0, Math.max(0, all.length - maxPerUser + 1))) await this.drop(id);
    const id = randomUUID();
    // qemu-img checks uploaded overlays here, with no rights but those of the labs' group.
    await makeTraversableDirectory(this.directory(id));
    return { id, directory: this.directory(id) };
  }

  async keep(transfer: Transfer): Promise<void> {
    await writeFileAtomic(join(this.directory(transfer.id), "transfer.json"), `${JSON.stringify(transfer)}\n`, 0o600);
  }

  /** Throws disks_not_found. */
  async get(user: string, id: string, direction?: Transfer["direction"]): Promise<Transfer> {
    const found = isUuid(id) ? await this.#read(id) : undefined;
    const isValid = found !== undefined && found.user === user && found.begun + transferMs >= Date.now();
    if (!isValid || (direction !== undefined && found.direction !== direction))
      throw new Failure("disks_not_found", `there is no transfer ${id} of disks: it has ended, or its day is over`);
    return found;
  }

  async drop(id: string): Promise<void> {
    await this.#trash.discard(this.directory(id));
  }

  async #names(): Promise<readonly string[]> {
    return readdir(this.#directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return [];
      throw error;
    });
  }

  async #madeAt(name: string): Promise<number | undefined> {
    const stats = await ifThere(lstat(join(this.#directory, name)));
    return stats?.mtimeMs;
  }

  async #read(id: string): Promise<Transfer | undefined> {
    const text = await readFile(join(this.directory(id), "transfer.json"), "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
      throw error;
    });
    return text === undefined ? undefined : parsed(text);
  }
}

/** Returns undefined for a damaged file: nobody can use the transfer then, and it is removed after its day. */
function parsed(text: string): Transfer | undefined {
  try {
    const transfer = JSON.parse(text) as Partial<Transfer> | null;
    return transfer?.version === 1 && Array.isArray(transfer.disks) ? (transfer as Transfer) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
