import { readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileMark } from "../files/file-mark.ts";
import type { Trash } from "../files/trash.ts";
import { checkDefinition } from "./check-definition.ts";
import type { LabDefinition } from "./definition.ts";
import { sweepKeptLab } from "./sweep-lab.ts";

/** A lab that was removed without its disks: `<state>/labs/<uuid>/kept.json` in place of lab.json. */
export interface KeptLab {
  readonly definition: LabDefinition;
  /** When it was removed, ms since 1970. */
  readonly keptAt: number;
}

/** Labs whose disks were kept. Several may be at one path, of several owners or of one. */
export class KeptLabs {
  readonly #labs: string;
  readonly #trash: Trash;
  readonly #kept = new Map<string, KeptLab>();

  /** @param labs the directory of all labs */
  constructor(labs: string, trash: Trash) {
    this.#labs = labs;
    this.#trash = trash;
  }

  /** Looks for a kept lab in the directory of one without lab.json. Returns false if there is none. Throws if kept.json cannot be read. */
  async open(id: string): Promise<boolean> {
    if ((await fileMark(this.#file(id))) === undefined) return false;
    const definition = checkDefinition(JSON.parse(await readFile(this.#file(id), "utf8")), id);
    await this.#add(definition);
    return true;
  }

  /** Removes the lab and keeps its disks. */
  async keep(definition: LabDefinition): Promise<void> {
    const { id } = definition;
    await rename(join(this.#labs, id, "lab.json"), this.#file(id));
    await this.#add(definition);
  }

  /** Forgets the kept lab, because a new lab uses its disks. */
  async taken(id: string): Promise<void> {
    if (!this.#kept.delete(id)) return;
    await rm(this.#file(id), { force: true });
  }

  /** Returns the lab of this owner at this path that was kept last. */
  find(path: string, owner: string): LabDefinition | undefined {
    return this.list().find(({ definition }) => definition.path === path && definition.owner === owner)?.definition;
  }

  /** Returns all kept labs, sorted by path, then newest first. */
  list(): readonly KeptLab[] {
    return [...this.#kept.values()].sort(
      (a, b) => (a.definition.path < b.definition.path ? -1 : a.definition.path > b.definition.path ? 1 : 0) || b.keptAt - a.keptAt,
    );
  }

  /** Removes the disks of the kept lab. */
  async remove(id: string): Promise<void> {
    if (this.#kept.delete(id)) await this.#trash.discard(join(this.#labs, id));
  }

  async #add(definition: LabDefinition): Promise<void> {
    const { id } = definition;
    // The rename was the last change of the file, so that ctime is the time when the lab was kept.
    this.#kept.set(id, { definition, keptAt: (await stat(this.#file(id))).ctimeMs });
    await sweepKeptLab(join(this.#labs, id), this.#trash);
  }

  #file(id: string): string {
    return join(this.#labs, id, "kept.json");
  }
}
