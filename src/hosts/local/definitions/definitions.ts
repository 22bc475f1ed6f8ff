import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { KeyedQueue } from "../../../base/keyed-queue.ts";
import { Failure } from "../../../contract/errors.ts";
import type { Spares } from "../../../files/spare-files.ts";
import { writeFileAtomic } from "../../../files/write-file-atomic.ts";
import { exists } from "../files/file-exists.ts";
import { fileMark } from "../files/file-mark.ts";
import { makePassage } from "../files/passage.ts";
import { spreadDirectories } from "../files/spread-directories.ts";
import type { Trash } from "../files/trash.ts";
import { isUuid } from "../machine/uuid.ts";
import { checkDefinition } from "./check-definition.ts";
import type { LabDefinition } from "./definition.ts";
import { KeptLabs } from "./kept-labs.ts";
import { endingReserve, holdsNothing, lastGoodFile, readLastGood, setAside, writeLastGood } from "./last-good.ts";
import { claimsByPath, type PathClaim, type RecordedLab, rightfulLab } from "./path-claims.ts";
import { sweepLab } from "./sweep-lab.ts";

/** The persisted labs. Each has a directory `<state>/labs/<uuid>`. */
export interface Definitions {
  /** Returns the paths of all labs, sorted. */
  paths(): readonly string[];
  /** Returns the uuids of all labs. */
  ids(): readonly string[];
  /**
   * Returns the lab as it is on disk now, so that an edit by hand is noticed; `undefined` if there is no such lab. Warns of an unreadable file and returns the
   * last good definition instead. Throws host_error if there is none.
   */
  get(path: string): Promise<LabDefinition | undefined>;
  /** Returns all labs, sorted by path, as `get` returns them. Leaves out labs for which `get` throws. */
  all(): Promise<readonly LabDefinition[]>;
  put(definition: LabDefinition, options?: PutOptions): Promise<void>;
  /** Edits the lab as it is on disk now. Changes of one lab run one after the other. Throws lab_not_found. */
  change(path: string, edit: (definition: LabDefinition) => LabDefinition, options?: PutOptions): Promise<void>;
  /**
   * Forgets the lab, and then removes its files. With keepDisks, the nodes' disks and the definition (as kept.json) stay, for a lab that its owner creates at the
   * same path later.
   */
  remove(path: string, options: { readonly keepDisks: boolean }): Promise<void>;
  /** Labs that were removed without their disks. */
  readonly kept: KeptLabs;
  /** Returns the directories of labs in quarantine, by id: their definition is missing, unreadable, or claims the path of another lab. */
  quarantined(): Promise<readonly QuarantinedDirectory[]>;
  /**
   * Takes a lab out of quarantine, by its file or the last good copy. Throws lab_not_found for an unknown id, lab_exists if its path is taken, and bad_request if
   * none of its definitions is readable.
   */
  restore(id: string): Promise<LabDefinition>;
  /** Returns the lab's directory, which exists after the first put. */
  directory(id: string): string;
}

export interface PutOptions {
  /** The write ends something and must succeed on a full disk: it may use the reserve. */
  readonly isEnding?: boolean;
}

export interface OpenOptions {
  /** The reserve for definitions that must be written on a full disk. */
  readonly spares?: Spares;
  /** Path → the lab that the service has a record of. The record decides which lab a disputed path belongs to. */
  readonly recorded?: ReadonlyMap<string, RecordedLab>;
}

export interface QuarantinedDirectory {
  readonly id: string;
  /** A text for people. */
  readonly reason: string;
  /** The definition of its file or of the last good copy. */
  readonly definition?: LabDefinition;
}

interface Entry {
  readonly mark: string;
  readonly definition: LabDefinition;
  /** The file is unreadable, and the definition is the last good one. */
  readonly isStandIn?: true;
}

/**
 * @param state the state directory
 * @param trash takes the files of labs that are removed
 * @param warn called for a lab.json that is missing, unreadable or claims the path of another lab; nothing of such a lab is removed
 */
export async function openDefinitions(
  state: string,
  trash: Trash,
  warn: (text: string) => void,
  { spares, recorded = new Map() }: OpenOptions = {},
): Promise<Definitions> {
  const labs = join(state, "labs");
  await makePassage(labs);
  await spreadDirectories(labs);
  const file = (id: string) => join(labs, id, "lab.json");
  const kept = new KeptLabs(labs, trash);
  /** Path → uuid. */
  const index = new Map<string, string>();
  /** Path → the lab that it belongs to, also while that lab is in quarantine. */
  const holders = new Map(recorded);
  /** Uuid → the definition that was last read or written. */
  const entries = new Map<string, Entry>();

  /** Writes of a lab's copy. */
  const copies = new KeyedQueue();
  /** Only warns of a failure: a full disk must not make a change fail that lab.json already contains. */
  const saveCopy = (id: string, mark: string, text: string) =>
    copies.run(id, async () => {
      if (entries.get(id)?.mark !== mark) return;
      await writeLastGood(join(labs, id), text).catch((error: Error) => {
        if (entries.has(id)) warn(`${lastGoodFile(join(labs, id))} could not be written and may be out of date: ${error.message}`);
      });
    });

  async function read(id: string): Promise<LabDefinition | undefined> {
    const mark = await fileMark(file(id));
    if (mark === undefined) return undefined;
    const known = entries.get(id);
    if (known?.mark === mark) return known.definition;
    let text: string;
    let definition: LabDefinition;
    try {
      text = await readFile(file(id), "utf8");
      definition = checkDefinition(JSON.parse(text), id);
    } catch (cause) {
      // The file was removed since its mark was read.
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      const message = `${file(id)} cannot be read: ${(cause as Error).message}`;
      const good = known?.definition ?? (await readLastGood(join(labs, id), id));
      if (good === undefined) throw new Failure("host_error", message, { data: { host: { message } }, cause });
      warn(
        `${message}; the last good definition of lab ${good.path} is used, and the next change of the lab writes it there (the file is kept beside it)`,
      );
      entries.set(id, { mark, definition: good, isStandIn: true });
      return good;
    }
    entries.set(id, { mark, definition });
    // The copy keeps the path that the lab had until a new path is accepted.
    if (index.get(definition.path) === id) await saveCopy(id, mark, text);
    return definition;
  }

  async function accept(definition: LabDefinition): Promise<void> {
    const { id, path, owner } = definition;
    index.set(path, id);
    holders.set(path, { id, owner });
    const entry = entries.get(id);
    if (entry !== undefined && entry.isStandIn !== true) await saveCopy(id, entry.mark, await readFile(file(id), "utf8"));
  }

  /** Returns whether a lab may have the path that was set by hand: it belongs to no other lab, also not to one in quarantine or in the records. */
  async function isFree({ id, path, owner }: LabDefinition): Promise<boolean> {
    if (index.has(path)) return false;
    const holder = holders.get(path);
    if (holder !== undefined && holder.id !== id && (holder.owner !== owner || (await exists(join(labs, holder.id))))) return false;
    return !(await definitions.quarantined()).some((one) => one.id !== id && one.definition?.path === path);
  }

  const claims: PathClaim[] = [];
  for (const id of (await readdir(labs)).sort()) {
    try {
      if (isUuid(id)) await removeDrafts(join(labs, id));
      const definition = await read(id);
      if (definition === undefined) {
        if (await kept.open(id)) continue;
        if (isUuid(id) && (await holdsNothing(join(labs, id)))) await trash.discard(join(labs, id));
        else if (isUuid(id)) {
          warn(`${missing(file(id))}: ${inQuarantine}`);
          claims.push(...claimsOfLost(id, await readLastGood(join(labs, id), id), recorded));
        }
        continue;
      }
      const lastPath = (await readLastGood(join(labs, id), id))?.path;
      claims.push({ id, path: definition.path, definition, ...(lastPath !== undefined && { lastPath }) });
    } catch (error) {
      warn((error as Error).message);
      claims.push(...claimsOfLost(id, undefined, recorded));
    }
  }
  for (const [path, some] of claimsByPath(claims)) {
    const winner = rightfulLab(some, recorded.get(path));
    for (const { id, definition } of some) {
      // Nothing of a lab in quarantine is removed.
      if (definition === undefined) continue;
      try {
        if (id !== winner) {
          const of = winner === undefined ? `lab ${recorded.get(path)?.id}, which the service has a record of` : file(winner);
          warn(`${file(id)} claims the path ${path} of ${of}: ${inQuarantine}`);
          continue;
        }
        // A last good definition may be older than the disks.
        if (entries.get(id)?.isStandIn !== true) await sweepLab(join(labs, id), definition, trash);
        await accept(definition);
      } catch (error) {
        warn((error as Error).message);
      }
    }
  }

  const changes = new KeyedQueue();

  /** Reads the definition in the directory of an unknown lab; `problem` if it is not that of lab.json. */
  async function look(id: string): Promise<{ readonly definition?: LabDefinition | undefined; readonly problem?: string }> {
    try {
      return { definition: checkDefinition(JSON.parse(await readFile(file(id), "utf8")), id) };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const problem = code === "ENOENT" ? "its lab.json is missing" : `its lab.json cannot be read: ${message}`;
      return { definition: await readLastGood(join(labs, id), id), problem };
    }
  }

  const definitions: Definitions = {
    paths: () => [...index.keys()].sort(),
    ids: () => [...index.values()].sort(),
    directory: (id) => join(labs, id),
    get: async (path) => {
      const id = index.get(path);
      if (id === undefined) return undefined;
      const definition = await read(id);
      // The lab was removed meanwhile.
      if (index.get(path) !== id) return undefined;
      if (definition === undefined || definition.path !== path) {
        // The lab was removed or renamed by hand.
        index.delete(path);
        if (definition === undefined) {
          entries.delete(id);
          if (await exists(join(labs, id))) warn(`${missing(file(id))}: ${inQuarantine}`);
        } else if (await isFree(definition)) await accept(definition);
        else warn(`${file(id)} claims the path ${definition.path} of another lab: ${inQuarantine}`);
        return undefined;
      }
      return definition;
    },
    all: async () => {
      const found = await Promise.all(
        definitions.paths().map((path) => definitions.get(path).catch(() => entries.get(index.get(path) ?? "")?.definition)),
      );
      return found.filter((definition) => definition !== undefined);
    },
    put: async (definition, { isEnding = false } = {}) => {
      const { id, path } = definition;
      const known = entries.get(id);
      if (known === undefined) for (const directory of [join(labs, id), join(labs, id, "nodes")]) await makePassage(directory);
      else if (known.isStandIn === true) await setAside(join(labs, id), known.definition);
      const text = `${JSON.stringify(definition, null, 1)}\n`;
      // The copy of an unreadable file must not be used up: it is all that is left.
      const reserve = known?.isStandIn === true ? spares : endingReserve(join(labs, id), spares);
      await writeFileAtomic(file(id), text, 0o600, isEnding ? reserve : undefined);
      const mark = (await fileMark(file(id))) ?? "";
      entries.set(id, { mark, definition });
      index.set(path, id);
      holders.set(path, { id, owner: definition.owner });
      await saveCopy(id, mark, text);
      await kept.taken(id);
    },
    change: (path, edit, options) =>
      changes.run(path, async () => {
        const definition = await definitions.get(path);
        if (definition === undefined) throw new Failure("lab_not_found", `there is no lab ${path}`);
        await definitions.put(edit(definition), options);
      }),
    remove: async (path, { keepDisks }) => {
      const id = index.get(path);
      if (id === undefined) return;
      const definition = keepDisks ? await read(id) : undefined;
      if (keepDisks && definition === undefined) throw new Failure("lab_not_found", `there is no lab ${path}`);
      const entry = entries.get(id);
      // A kept definition must be readable.
      if (keepDisks && entry?.isStandIn === true) await definitions.put(entry.definition);
      // Forgotten first, so that the missing file is not reported as lost.
      index.delete(path);
      entries.delete(id);
      holders.delete(path);
      try {
        // Each is one rename: after a crash it is either done or not.
        if (definition !== undefined) await kept.keep(definition);
        else await trash.discard(join(labs, id));
      } catch (error) {
        index.set(path, id);
        if (entry !== undefined) {
          entries.set(id, entry);
          holders.set(path, { id, owner: entry.definition.owner });
        }
        throw error;
      }
    },
    quarantined: async () => {
      const known = new Set([...index.values(), ...kept.list().map(({ definition }) => definition.id)]);
      const found: QuarantinedDirectory[] = [];
      for (const id of (await readdir(labs)).filter((name) => isUuid(name) && !known.has(name)).sort()) {
        const directory = join(labs, id);
        if (await holdsNothing(directory)) continue;
        const { definition, problem } = await look(id);
        const path = definition?.path ?? "";
        const taken = index.get(path) ?? (holders.get(path)?.id === id ? undefined : holders.get(path)?.id);
        const reason = problem ?? (taken === undefined ? "it was found after the service had started" : `its path belongs to lab ${taken}`);
        // The lab was removed or restored meanwhile.
        if (definitions.ids().includes(id) || !(await exists(directory))) continue;
        found.push({ id, reason, ...(definition !== undefined && { definition }) });
      }
      return found;
    },
    restore: async (id) => {
      const found = (await definitions.quarantined()).find((one) => one.id === id);
      if (found === undefined) throw new Failure("lab_not_found", `there is no lab ${id} in quarantine`);
      const { definition, reason } = found;
      if (definition === undefined) {
        throw new Failure(
          "bad_request",
          `lab ${id} cannot be restored: ${reason}, and there is no good copy of it: repair the file, or delete the lab`,
        );
      }
      const { path } = definition;
      if (index.has(path)) {
        throw new Failure(
          "lab_exists",
          `${path} is the path of another lab: destroy that one, or change "path" in lab.json, and restore again`,
        );
      }
      if ((await look(id)).problem !== undefined) await setAside(join(labs, id), definition);
      await definitions.put(definition);
      return definition;
    },
    kept,
  };
  return definitions;
}

/** Returns the claims of a directory without a valid definition: the path of its last good copy, and the paths of its records. */
function claimsOfLost(id: string, last: LabDefinition | undefined, recorded: ReadonlyMap<string, RecordedLab>): readonly PathClaim[] {
  const paths = new Set([...recorded].flatMap(([path, lab]) => (lab.id === id ? [path] : [])));
  if (last !== undefined) paths.add(last.path);
  return [...paths].map((path) => ({ id, path, lastPath: path }));
}

const inQuarantine = "nothing of the lab is removed; labwright quarantine lists, restores and deletes such labs";

function missing(file: string): string {
  return `${file} is missing`;
}

/** Removes drafts of files whose writing a crash interrupted. Only for the start of the service: nothing else writes here. */
async function removeDrafts(directory: string): Promise<void> {
  const drafts = (await readdir(directory)).filter((name) => name.endsWith(".tmp"));
  await Promise.all(drafts.map((name) => rm(join(directory, name), { force: true })));
}
