import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
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

/** A lab that is about to be made and to become a spread lab. The next start makes its record if a crash comes between the lab and the record. */
export interface SpreadNote extends Pick<SpreadRecord, "version" | "path" | "byGroup" | "labels"> {
  /** As `noteId` returns it. */
  readonly id: string;
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

/** Returns the id of the note about the lab at a path. */
export function noteId(path: string): string {
  return createHash("sha256").update(path).digest("hex");
}

/** Whether an id can be the name of a record's file. Other machines send such ids. */
export function isRecordId(id: unknown): id is string {
  return typeof id === "string" && /^[\w-]{1,64}$/.test(id);
}

/** The content of the files of one folder. */
export interface RecordKind {
  /** The fields besides `version` and `id`, with their types. */
  readonly fields: Readonly<Record<string, "string" | "number" | "boolean" | "object">>;
  /** The consequence if an administrator removes such a file, for people. */
  readonly loss: string;
}

const noteFields = { path: "string", byGroup: "boolean", labels: "object" } as const;

export const recordKinds = {
  spread: {
    fields: { ...noteFields, parts: "object" },
    loss: "then its lab has only the nodes of this machine, and the other machines remove theirs",
  },
  note: { fields: noteFields, loss: "then its lab is on this machine alone" },
  part: { fields: { path: "string", home: "number", owner: "string" }, loss: "then its nodes run until their lab is destroyed" },
} as const satisfies Readonly<Record<string, RecordKind>>;

/** One file for each record, in a folder of the state directory. */
export class Records<Kept extends { readonly id: string }> {
  readonly #folder: string;
  readonly #all = new Map<string, Kept>();

  /** Throws an error with the file's name for a damaged record. */
  constructor(folder: string, kind: RecordKind) {
    this.#folder = folder;
    for (const name of namesIn(folder)) {
      const file = join(folder, name);
      // A crash left a draft.
      if (name.endsWith(".tmp")) rmSync(file, { force: true });
      if (!name.endsWith(".json")) continue;
      try {
        const record = JSON.parse(readFileSync(file, "utf8")) as Kept;
        const problem = problemOf(record, kind);
        if (problem !== undefined) throw new Error(problem);
        if (`${record.id}.json` !== name) throw new Error(`its id is ${record.id}`);
        this.#all.set(record.id, record);
      } catch (error) {
        const why = `cannot be read: ${(error as Error).message}`;
        throw new Error(`the record ${file} of a spread lab ${why}. Restore the file from a backup, or remove it: ${kind.loss}`, {
          cause: error,
        });
      }
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

/** Returns the parts on this machine of other machines' labs. @param directory as in SpreadOptions */
export function partsIn(directory: string): Records<PartRecord> {
  return new Records<PartRecord>(join(directory, "parts"), recordKinds.part);
}

function problemOf(record: unknown, { fields }: RecordKind): string | undefined {
  if (typeof record !== "object" || record === null) return "it contains no object";
  const { version, id, ...rest } = record as Readonly<Record<string, unknown>>;
  if (version !== 1) return `it has version ${String(version)}, and this release reads version 1`;
  if (!isRecordId(id)) return "its id is invalid";
  const wrong = Object.entries(fields).find(([name, type]) => rest[name] === null || typeof rest[name] !== type);
  return wrong && `its field ${wrong[0]} is missing or of another type`;
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
