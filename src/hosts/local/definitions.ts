import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../../contract/errors.ts";
import { checkDefinition } from "./check-definition.ts";
import type { LabDefinition } from "./definition.ts";
import { fileMark } from "./file-mark.ts";
import { KeptLabs } from "./kept-labs.ts";
import { makePassage } from "./passage.ts";
import { spreadDirectories } from "./spread-directories.ts";
import { sweepLab } from "./sweep-lab.ts";
import type { Trash } from "./trash.ts";
import { Turns } from "./turns.ts";
import { writeFileAtomic } from "./write-file-atomic.ts";

/** The persisted labs: one directory each, named by the lab's uuid, below `<state>/labs`. */
export interface Definitions {
  /** Paths, sorted. */
  paths(): readonly string[];
  /** Uuids of all labs. */
  ids(): readonly string[];
  /** As it is on disk now: an edit by hand is noticed. undefined: no such lab. Throws host_error where the file does not read. */
  get(path: string): Promise<LabDefinition | undefined>;
  /** All, by path, as they are on disk now. One that does not read any more is as it was, and keeps nobody from another lab: who uses it is told. */
  all(): Promise<readonly LabDefinition[]>;
  put(definition: LabDefinition): Promise<void>;
  /** Changes the lab from what it is on disk now; changes of one lab happen one after the other. Throws lab_not_found. */
  change(path: string, edit: (definition: LabDefinition) => LabDefinition): Promise<void>;
  /**
   * Forgets the lab, at once; then its files go. With keepDisks the nodes' disks stay, with the definition as kept.json, for a lab that its owner
   * makes at the same path later.
   */
  remove(path: string, options: { readonly keepDisks: boolean }): Promise<void>;
  /** Labs that were removed without their disks. */
  readonly kept: KeptLabs;
  /** The lab's directory; exists once the lab was put. */
  directory(id: string): string;
}

interface Entry {
  readonly mark: string;
  readonly definition: LabDefinition;
}

/**
 * @param state the state directory
 * @param trash takes the files of labs that are removed
 * @param warn told of a lab.json that does not read or claims the path of another lab; such a lab is left alone
 */
export async function openDefinitions(state: string, trash: Trash, warn: (text: string) => void): Promise<Definitions> {
  const labs = join(state, "labs");
  await makePassage(labs);
  await spreadDirectories(labs);
  const file = (id: string) => join(labs, id, "lab.json");
  const kept = new KeptLabs(labs, trash);
  /** Path → uuid. */
  const index = new Map<string, string>();
  /** Uuid → what was last read or written. */
  const entries = new Map<string, Entry>();

  async function read(id: string): Promise<LabDefinition | undefined> {
    const mark = await fileMark(file(id));
    if (mark === undefined) return undefined;
    const known = entries.get(id);
    if (known?.mark === mark) return known.definition;
    let definition: LabDefinition;
    try {
      definition = checkDefinition(JSON.parse(await readFile(file(id), "utf8")), id);
    } catch (cause) {
      const message = (cause as Error).message;
      throw new Failure("host_error", `${file(id)} does not read: ${message}`, { data: { host: { message } }, cause });
    }
    entries.set(id, { mark, definition });
    return definition;
  }

  for (const id of (await readdir(labs)).sort()) {
    try {
      if (uuid.test(id)) await removeDrafts(join(labs, id));
      const definition = await read(id);
      if (definition === undefined) {
        if (!(await kept.open(id)) && uuid.test(id)) await trash.discard(join(labs, id)); // a removal that was cut off
        continue;
      }
      await sweepLab(join(labs, id), definition, trash);
      const other = index.get(definition.path);
      if (other === undefined) index.set(definition.path, id);
      else warn(`${file(id)} claims the path ${definition.path} of ${file(other)}`);
    } catch (error) {
      warn((error as Error).message);
    }
  }

  const turns = new Turns<string>();

  const definitions: Definitions = {
    paths: () => [...index.keys()].sort(),
    ids: () => [...index.values()].sort(),
    directory: (id) => join(labs, id),
    get: async (path) => {
      const id = index.get(path);
      if (id === undefined) return undefined;
      const definition = await read(id);
      if (definition === undefined || definition.path !== path) {
        // Removed or renamed by hand.
        index.delete(path);
        if (definition === undefined) entries.delete(id);
        else if (!index.has(definition.path)) index.set(definition.path, id);
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
    put: async (definition) => {
      const { id, path } = definition;
      if (!entries.has(id)) for (const directory of [join(labs, id), join(labs, id, "nodes")]) await makePassage(directory);
      await writeFileAtomic(file(id), `${JSON.stringify(definition, null, 1)}\n`, 0o600);
      entries.set(id, { mark: (await fileMark(file(id))) ?? "", definition });
      index.set(path, id);
      await kept.taken(id);
    },
    change: (path, edit) =>
      turns.run(path, async () => {
        const definition = await definitions.get(path);
        if (definition === undefined) throw new Failure("lab_not_found", `there is no lab ${path}`);
        await definitions.put(edit(definition));
      }),
    remove: async (path, { keepDisks }) => {
      const id = index.get(path);
      if (id === undefined) return;
      if (keepDisks) {
        const definition = await read(id);
        if (definition === undefined) throw new Failure("lab_not_found", `there is no lab ${path}`);
        await kept.keep(definition);
        index.delete(path);
        entries.delete(id);
      } else {
        await rm(file(id), { force: true });
        index.delete(path);
        entries.delete(id);
        await trash.discard(join(labs, id));
      }
    },
    kept,
  };
  return definitions;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Drafts of files whose writing a crash cut off. Only one service writes here, and it has just begun. */
async function removeDrafts(directory: string): Promise<void> {
  const drafts = (await readdir(directory)).filter((name) => name.endsWith(".tmp"));
  await Promise.all(drafts.map((name) => rm(join(directory, name), { force: true })));
}
