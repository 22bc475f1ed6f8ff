import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Failure } from "../../contract/errors.ts";
import type { ObservedLab } from "../../engine/model/observed.ts";
import { type Spares, sparesOf } from "../../files/spare-files.ts";
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
  /** A change runs, was cut off, or did not reach all machines: the carriers of links between machines may be wrong. `owner`: whose session sets them right. */
  readonly unsettled?: { readonly owner: string };
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
  /** Number of the home machine. 0: the record was lost, and the machine that has the lab is looked for. */
  readonly home: number;
  readonly owner: string;
  /** This machine's id of the part. In quarantine without any readable definition, it is all that names the part. Absent: an earlier release made it. */
  readonly labId?: string;
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
  readonly folder: string;
  /** The fields besides `version` and `id`, with their types. */
  readonly fields: Readonly<Record<string, "string" | "number" | "boolean" | "object">>;
  /** The consequence without such a file, for people. */
  readonly loss: string;
  /** Without a damaged file of this kind, nothing is lost: the start goes on. */
  readonly isDispensable?: true;
}

const noteFields = { path: "string", byGroup: "boolean", labels: "object" } as const;

export const recordKinds = {
  spread: {
    folder: "labs",
    fields: { ...noteFields, parts: "object" },
    loss: "then its lab has only the nodes of this machine, and the other machines remove theirs",
  },
  note: { folder: "making", fields: noteFields, loss: "its lab is on this machine alone", isDispensable: true },
  part: {
    folder: "parts",
    fields: { path: "string", home: "number", owner: "string" },
    loss: "its home machine is looked for, and if no machine has its lab any more, its nodes end",
  },
} as const satisfies Readonly<Record<string, RecordKind>>;

/** Repairs the damaged files of a folder. */
export interface Repair<Kept> {
  readonly warn: (text: string) => void;
  /** Returns the record with this id as other data has it; undefined: no other data has it. */
  readonly remake?: (id: string) => Kept | undefined;
}

/** One file for each record, in a folder of the state directory. */
export class Records<Kept extends { readonly id: string }> {
  readonly #folder: string;
  readonly #spares: Spares;
  readonly #all = new Map<string, Kept>();

  /**
   * A damaged file becomes FILE.damaged, with a warning, and its record is made again. Throws an error with the file's name for one that is neither dispensable
   * nor can be made again, and for one of a newer release.
   * @param directory as in SpreadOptions
   */
  constructor(directory: string, kind: RecordKind, repair: Repair<Kept>) {
    const folder = join(directory, kind.folder);
    this.#folder = folder;
    this.#spares = sparesOf(dirname(directory));
    for (const name of namesIn(folder)) {
      const file = join(folder, name);
      // A crash left a draft.
      if (name.endsWith(".tmp")) rmSync(file, { force: true });
      if (!name.endsWith(".json")) continue;
      try {
        const record = readRecord<Kept>(file, kind);
        if (`${record.id}.json` !== name) throw new Error(`its id is ${record.id}`);
        this.#all.set(record.id, record);
      } catch (error) {
        const record = repaired(file, kind, repair, error as Error);
        if (record !== undefined) this.#all.set(record.id, record);
      }
    }
  }

  all(): readonly Kept[] {
    return [...this.#all.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  get(id: string): Kept | undefined {
    return this.#all.get(id);
  }

  /** A record that is there already is also written on a full disk: labs can be stopped then. Throws host_error. */
  async put(record: Kept): Promise<void> {
    const spares = this.#all.has(record.id) ? this.#spares : undefined;
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      await writeFileAtomic(this.#file(record.id), JSON.stringify(record), 0o600, spares);
    } catch (error) {
      throw writeFailure(error as NodeJS.ErrnoException);
    }
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
export function partsIn(directory: string, warn: (text: string) => void): Records<PartRecord> {
  const remake = (id: string): PartRecord | undefined => (isRecordId(id) ? lostPart(id) : undefined);
  return new Records<PartRecord>(directory, recordKinds.part, { warn, remake });
}

function writeFailure({ code, message }: NodeJS.ErrnoException): Failure {
  const isFull = code === "ENOSPC" || code === "EDQUOT";
  const text = isFull
    ? "the state directory's file system is full: free space on it and try again"
    : `a record of the lab could not be written: ${message}`;
  return new Failure("host_error", text, { data: { host: { message, ...(code !== undefined && { code }) } } });
}

/** The file is of a newer release, which this one must not change. */
class OtherVersion extends Error {}

/** Throws an Error with the reason if the file has no such record. */
function readRecord<Kept>(file: string, kind: RecordKind): Kept {
  const record: unknown = JSON.parse(readFileSync(file, "utf8"));
  const problem = problemOf(record, kind);
  if (problem !== undefined) throw new Error(problem);
  return record as Kept;
}

/** Returns the record of a damaged file as other data has it; undefined if the start goes on without it. */
function repaired<Kept extends { readonly id: string }>(
  file: string,
  kind: RecordKind,
  { warn, remake }: Repair<Kept>,
  problem: Error,
): Kept | undefined {
  const why = `the record ${file} of a spread lab cannot be read: ${problem.message}`;
  const record = problem instanceof OtherVersion ? undefined : remake?.(basename(file, ".json"));
  if (problem instanceof OtherVersion || (record === undefined && kind.isDispensable !== true))
    throw new Error(`${why}. Restore the file from a backup, or remove it: ${kind.loss}`, { cause: problem });
  copyFileSync(file, `${file}.damaged`);
  if (record === undefined) rmSync(file);
  else {
    writeFileSync(`${file}.tmp`, JSON.stringify(record), { mode: 0o600, flush: true });
    renameSync(`${file}.tmp`, file);
  }
  warn(`${why}. It is ${file}.damaged now, and ${record === undefined ? kind.loss : "the record was made again"}`);
  return record;
}

function problemOf(record: unknown, { fields }: RecordKind): string | undefined {
  if (typeof record !== "object" || record === null) return "it contains no object";
  const { version, id, ...rest } = record as Readonly<Record<string, unknown>>;
  if (version !== 1) throw new OtherVersion(`it has version ${String(version)}, and this release reads version 1`);
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

/** Returns the id of the lab of a part; undefined for another path. */
export function idOfPart(path: string): string | undefined {
  const id = isPartPath(path) ? path.slice(folder.length + 1) : undefined;
  return isRecordId(id) ? id : undefined;
}

/** Returns the record of a part whose own is lost. */
export function lostPart(id: string): PartRecord {
  return { version: 1, id, path: partPath(id), home: 0, owner: "" };
}

export function isPartPath(path: string): boolean {
  return path.startsWith(`${folder}/`);
}
