import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { KeyedQueue } from "../../../base/keyed-queue.ts";
import { Failure } from "../../../contract/errors.ts";
import type { Spares } from "../../../files/spare-files.ts";
import { writeFileAtomic } from "../../../files/write-file-atomic.ts";
import { exists } from "../files/file-exists.ts";
import { fileMark } from "../files/file-mark.ts";
import type { Trash } from "../files/trash.ts";
import { makeTraversableDirectory } from "../files/traversable-directory.ts";
import { isUuid } from "../machine/uuid.ts";
import { checkDefinition } from "./check-definition.ts";
import type { LabDefinition } from "./definition.ts";
import { DefinitionText } from "./definition-text.ts";
import type { Definitions, PutOptions, QuarantinedDirectory } from "./definitions.ts";
import { KeptLabs } from "./kept-labs.ts";
import { endingReserve, holdsNothing, lastGoodFile, readLastGood, setAside, writeLastGood } from "./last-good.ts";
import type { RecordedLab } from "./path-claims.ts";

interface Entry {
  readonly mark: string;
  readonly definition: LabDefinition;
  /** The file is unreadable, and the definition is the last good one. */
  readonly isStandIn?: true;
}

/** The labs of one state directory. A new store knows no lab: `acceptLabs` fills it. */
export class DefinitionStore implements Definitions {
  readonly kept: KeptLabs;
  readonly #labs: string;
  readonly #trash: Trash;
  readonly #warn: (text: string) => void;
  readonly #spares: Spares | undefined;
  /** Path → uuid. */
  readonly #index = new Map<string, string>();
  /** Path → the lab that it belongs to, also while that lab is in quarantine. */
  readonly #holders: Map<string, RecordedLab>;
  /** Uuid → the definition that was last read or written. */
  readonly #entries = new Map<string, Entry>();
  /** Uuid → the writer of its text, which has the last text. */
  readonly #texts = new Map<string, DefinitionText>();
  /** Writes of a lab's copy. */
  readonly #copies = new KeyedQueue();
  /** Labs whose copy is written soon. */
  readonly #dueCopies = new Set<string>();
  readonly #changes = new KeyedQueue();

  constructor(
    labs: string,
    trash: Trash,
    warn: (text: string) => void,
    { spares, recorded }: { readonly spares: Spares | undefined; readonly recorded: ReadonlyMap<string, RecordedLab> },
  ) {
    this.#labs = labs;
    this.#trash = trash;
    this.#warn = warn;
    this.#spares = spares;
    this.#holders = new Map(recorded);
    this.kept = new KeptLabs(labs, trash);
  }

  paths(): readonly string[] {
    return [...this.#index.keys()].sort();
  }

  ids(): readonly string[] {
    return [...this.#index.values()].sort();
  }

  directory(id: string): string {
    return join(this.#labs, id);
  }

  file(id: string): string {
    return join(this.#labs, id, "lab.json");
  }

  /** Returns whether the definition that was last read is the last good one, because the file is unreadable. */
  isStandIn(id: string): boolean {
    return this.#entries.get(id)?.isStandIn === true;
  }

  /** Reads a lab by its id; `undefined` if there is no file. Throws host_error if neither the file nor the copy is readable. */
  async read(id: string): Promise<LabDefinition | undefined> {
    const file = this.file(id);
    const mark = await fileMark(file);
    if (mark === undefined) return undefined;
    const known = this.#entries.get(id);
    if (known?.mark === mark) return known.definition;
    let text: string;
    let definition: LabDefinition;
    try {
      text = await readFile(file, "utf8");
      definition = checkDefinition(JSON.parse(text), id);
    } catch (cause) {
      // The file was removed since its mark was read.
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      const message = `${file} cannot be read: ${(cause as Error).message}`;
      const good = known?.definition ?? (await readLastGood(this.directory(id), id));
      if (good === undefined) throw new Failure("host_error", message, { data: { host: { message } }, cause });
      this.#warn(
        `${message}; the last good definition of lab ${good.path} is used, and the next change of the lab writes it there (the file is kept beside it)`,
      );
      this.#entries.set(id, { mark, definition: good, isStandIn: true });
      return good;
    }
    this.#entries.set(id, { mark, definition });
    // The copy keeps the path that the lab had until a new path is accepted.
    if (this.#index.get(definition.path) === id) await this.#saveCopy(id, mark, text);
    return definition;
  }

  /** Makes a lab that was read known at its path. */
  async accept(definition: LabDefinition): Promise<void> {
    const { id, path, owner } = definition;
    this.#index.set(path, id);
    this.#holders.set(path, { id, owner });
    const entry = this.#entries.get(id);
    if (entry !== undefined && entry.isStandIn !== true) await this.#saveCopy(id, entry.mark, await readFile(this.file(id), "utf8"));
  }

  /** Only warns of a failure: a full disk must not make a change fail that lab.json already contains. */
  #saveCopy(id: string, mark: string, text: string): Promise<void> {
    return this.#copies.run(id, async () => {
      if (this.#entries.get(id)?.mark !== mark) return;
      const directory = this.directory(id);
      await writeLastGood(directory, text).catch(async (error: Error) => {
        // A directory that was removed by hand is noticed, and reported, by the next read of the lab.
        if (this.#entries.has(id) && (await exists(directory)))
          this.#warn(`${lastGoodFile(directory)} could not be written and may be out of date: ${error.message}`);
      });
    });
  }

  #textOf(definition: LabDefinition): string {
    const text = this.#texts.get(definition.id) ?? new DefinitionText();
    this.#texts.set(definition.id, text);
    return text.of(definition);
  }

  /** Writes one copy for all changes of the next second. A service that ends before that writes it at its next start. */
  #saveCopySoon(id: string): void {
    if (this.#dueCopies.has(id)) return;
    this.#dueCopies.add(id);
    setTimeout(() => {
      this.#dueCopies.delete(id);
      const entry = this.#entries.get(id);
      if (entry !== undefined && entry.isStandIn !== true) void this.#saveCopy(id, entry.mark, this.#textOf(entry.definition));
    }, copyDelayMs).unref();
  }

  async get(path: string): Promise<LabDefinition | undefined> {
    const id = this.#index.get(path);
    if (id === undefined) return undefined;
    const definition = await this.read(id);
    // The lab was removed meanwhile.
    if (this.#index.get(path) !== id) return undefined;
    if (definition?.path === path) return definition;
    // The lab was removed or renamed by hand.
    this.#index.delete(path);
    if (definition === undefined) {
      this.#entries.delete(id);
      if (await exists(this.directory(id))) this.#warn(missingFile(this.file(id)));
    } else if (await this.#isFree(definition)) await this.accept(definition);
    else this.#warn(`${this.file(id)} claims the path ${definition.path} of another lab: ${inQuarantine}`);
    return undefined;
  }

  /** Returns whether a lab may have the path that was set by hand: it belongs to no other lab, also not to one in quarantine or in the records. */
  async #isFree({ id, path, owner }: LabDefinition): Promise<boolean> {
    if (this.#index.has(path)) return false;
    const holder = this.#holders.get(path);
    if (holder !== undefined && holder.id !== id && (holder.owner !== owner || (await exists(this.directory(holder.id))))) return false;
    return !(await this.quarantined()).some((one) => one.id !== id && one.definition?.path === path);
  }

  async all(): Promise<readonly LabDefinition[]> {
    const found = await Promise.all(
      // A lab that cannot be read keeps its place in lists, with its last good definition. A call on the lab itself throws the reason.
      this.paths().map((path) => this.get(path).catch(() => this.#entries.get(this.#index.get(path) ?? "")?.definition)),
    );
    return found.filter((definition) => definition !== undefined);
  }

  async put(definition: LabDefinition, { isEnding = false }: PutOptions = {}): Promise<void> {
    const { id, path, owner } = definition;
    const directory = this.directory(id);
    const known = this.#entries.get(id);
    if (known === undefined) for (const made of [directory, join(directory, "nodes")]) await makeTraversableDirectory(made);
    else if (known.isStandIn === true) await setAside(directory, known.definition);
    const text = this.#textOf(definition);
    // The copy of an unreadable file must not be used up: it is all that is left.
    const reserve = known?.isStandIn === true ? this.#spares : endingReserve(directory, this.#spares);
    await writeFileAtomic(this.file(id), text, 0o600, isEnding ? reserve : undefined);
    const mark = (await fileMark(this.file(id))) ?? "";
    this.#entries.set(id, { mark, definition });
    this.#index.set(path, id);
    this.#holders.set(path, { id, owner });
    // The copy decides about a disputed path, and which disks are known. Other changes of a lab, of which there may be many in a second, do not wait for it.
    if (known !== undefined && known.isStandIn !== true && hasSameDisks(known.definition, definition)) this.#saveCopySoon(id);
    else await this.#saveCopy(id, mark, text);
    await this.kept.taken(id);
  }

  change(path: string, edit: (definition: LabDefinition) => LabDefinition, options?: PutOptions): Promise<void> {
    return this.#changes.run(path, async () => {
      const definition = await this.get(path);
      if (definition === undefined) throw new Failure("lab_not_found", `there is no lab ${path}`);
      await this.put(edit(definition), options);
    });
  }

  async remove(path: string, { keepDisks }: { readonly keepDisks: boolean }): Promise<void> {
    const id = this.#index.get(path);
    if (id === undefined) return;
    const definition = keepDisks ? await this.read(id) : undefined;
    if (keepDisks && definition === undefined) throw new Failure("lab_not_found", `there is no lab ${path}`);
    const entry = this.#entries.get(id);
    // A kept definition must be readable.
    if (keepDisks && entry?.isStandIn === true) await this.put(entry.definition);
    // Forgotten first, so that the missing file is not reported as lost.
    this.#index.delete(path);
    this.#entries.delete(id);
    this.#texts.delete(id);
    this.#holders.delete(path);
    try {
      // Each is one rename: after a crash it is either done or not.
      if (definition !== undefined) await this.kept.keep(definition);
      else await this.#trash.discard(this.directory(id));
    } catch (error) {
      this.#index.set(path, id);
      if (entry !== undefined) {
        this.#entries.set(id, entry);
        this.#holders.set(path, { id, owner: entry.definition.owner });
      }
      throw error;
    }
  }

  async quarantined(): Promise<readonly QuarantinedDirectory[]> {
    const known = new Set([...this.#index.values(), ...this.kept.list().map(({ definition }) => definition.id)]);
    const found: QuarantinedDirectory[] = [];
    for (const id of (await readdir(this.#labs)).filter((name) => isUuid(name) && !known.has(name)).sort()) {
      const directory = this.directory(id);
      if (await holdsNothing(directory)) continue;
      const { definition, problem } = await this.#inspect(id);
      const path = definition?.path ?? "";
      const holder = this.#holders.get(path)?.id;
      const taken = this.#index.get(path) ?? (holder === id ? undefined : holder);
      const reason = problem ?? (taken === undefined ? "it was found after the service had started" : `its path belongs to lab ${taken}`);
      // The lab was removed or restored meanwhile.
      if (this.ids().includes(id) || !(await exists(directory))) continue;
      found.push({ id, reason, ...(definition !== undefined && { definition }) });
    }
    return found;
  }

  /** Reads the definition in the directory of an unknown lab; `problem` if it is not that of lab.json. */
  async #inspect(id: string): Promise<{ readonly definition?: LabDefinition | undefined; readonly problem?: string }> {
    try {
      return { definition: checkDefinition(JSON.parse(await readFile(this.file(id), "utf8")), id) };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const problem = code === "ENOENT" ? "its lab.json is missing" : `its lab.json cannot be read: ${message}`;
      return { definition: await readLastGood(this.directory(id), id), problem };
    }
  }

  async restore(id: string): Promise<LabDefinition> {
    const found = (await this.quarantined()).find((one) => one.id === id);
    if (found === undefined) throw new Failure("lab_not_found", `there is no lab ${id} in quarantine`);
    const { definition, reason } = found;
    if (definition === undefined) {
      const message = `lab ${id} cannot be restored: ${reason}, and there is no good copy of it: repair the file, or delete the lab`;
      throw new Failure("bad_request", message);
    }
    if (this.#index.has(definition.path)) {
      const message = `${definition.path} is the path of another lab: destroy that one, or change "path" in lab.json, and restore again`;
      throw new Failure("lab_exists", message);
    }
    if ((await this.#inspect(id)).problem !== undefined) await setAside(this.directory(id), definition);
    await this.put(definition);
    return definition;
  }
}

const copyDelayMs = 1_000;

function hasSameDisks(before: LabDefinition, after: LabDefinition): boolean {
  if (before.path !== after.path || before.disks !== after.disks || before.nodes.length !== after.nodes.length) return false;
  return before.nodes.every(({ id }, at) => id === after.nodes[at]!.id);
}

export const inQuarantine = "nothing of the lab is removed; labwright quarantine lists, restores and deletes such labs";

/** Returns the warning for a missing lab.json. */
export function missingFile(file: string): string {
  return `${file} is missing: ${inQuarantine}`;
}
