import { readdirSync, readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ObservedLab } from "../../engine/model/observed.ts";
import { writeFileAtomic } from "../../files/write-file-atomic.ts";

/** A lab of this machine that has parts on other machines. */
export interface SpreadRecord {
  readonly version: 1;
  /** The host's id of the lab. */
  readonly id: string;
  readonly path: string;
  /** Parts of one group stay together. */
  readonly byGroup: boolean;
  /** Labels of the machines that may have parts. */
  readonly labels: Readonly<Record<string, string>>;
  /** The numbers of the other machines with parts, as they were last seen; `null`: not seen yet. */
  readonly parts: Readonly<Record<string, ObservedLab | null>>;
}

/** A part on this machine of another machine's lab. */
export interface PartRecord {
  readonly version: 1;
  /** The home machine's id of the lab. */
  readonly id: string;
  readonly path: string;
  /** Number of the home machine. */
  readonly home: number;
  readonly owner: string;
}

/** One file for each record, in a folder of the state directory. */
export class Records<Kept extends { readonly id: string }> {
  readonly #folder: string;
  readonly #all = new Map<string, Kept>();

  constructor(folder: string) {
    this.#folder = folder;
    for (const name of namesIn(folder)) {
      if (!name.endsWith(".json")) continue;
      const record = JSON.parse(readFileSync(join(folder, name), "utf8")) as Kept;
      this.#all.set(record.id, record);
    }
  }

  all(): readonly Kept[] {
    return [...this.#all.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  get(id: string): Kept | undefined {
    return this.#all.get(id);
  }

  async put(record: Kept): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFileAtomic(this.#file(record.id), JSON.stringify(record), 0o600);
    this.#all.set(record.id, record);
  }

  async remove(id: string): Promise<void> {
    await rm(this.#file(id), { force: true });
    this.#all.delete(id);
  }

  #file(id: string): string {
    return join(this.#folder, `${id}.json`);
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

const folder = "/~parts";

/** Returns the path of a part on its machine. No user can write such a path. */
export function partPath(id: string): string {
  return `${folder}/${id}`;
}

export function isPartPath(path: string): boolean {
  return path.startsWith(`${folder}/`);
}
