import type { ImportFileData } from "../../contract/schemas/import-file.ts";
import type { EditableSection } from "../../intent/edit/replace-section.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import type { FieldName } from "../../intent/places/field-places.ts";
import type { SourceLines } from "../../intent/places/source-lines.ts";
import type { ValuePlace } from "../../intent/places/value-place.ts";
import type { IntentText } from "../../intent/write/print.ts";
import type { ComputedPlan, PlanWork } from "./compute-plan.ts";
import type { SourceInput } from "./import-source.ts";
import { type PoolOptions, WorkPool } from "./pool.ts";
import { RecentReads } from "./recent-reads.ts";
import { type ShownReading, tasks } from "./tasks.ts";

type Files = Readonly<Record<string, string>>;

/** Maximum length of texts that are parsed in this thread, in 20 ms or less; a worker would not be faster. */
const smallText = 24 << 10;
/** The same for the number of a lab's files. */
const smallFiles = 1000;
/** The same for labs, in nodes, networks and links of both sides. */
const smallLab = 400;

/** The same for the fields of their nodes, in characters: a plan compares, counts and hashes each configuration and file. */
const smallTexts = 1 << 20;

/** Parses, edits and plans intents: small ones at once, large ones in threads, so that no intent blocks the service. */
export class Work {
  readonly #pool: WorkPool;
  readonly #reads = new RecentReads();

  readonly #mappingFolder: string | undefined;

  /** @param mappingFolder more tables of node types for imports */
  constructor(options: PoolOptions = {}, mappingFolder?: string) {
    this.#pool = new WorkPool(options);
    this.#mappingFolder = mappingFolder;
  }

  /** Like readIntent(). All callers with the same input share the result. */
  read(yaml: string, files: Files): Promise<ShownReading> {
    return this.#reads.get(yaml, files, async () =>
      isSmall(yaml, files) ? tasks.readIntent(yaml, files) : this.#pool.run("readIntent", yaml.length, yaml, files),
    );
  }

  /** As editIntent(). */
  async edit(yaml: string, files: Files, wanted: Lab): Promise<IntentText> {
    return isSmall(yaml, files) && sizeOf(wanted) <= smallLab
      ? tasks.editIntent(yaml, files, wanted)
      : this.#pool.run("editIntent", yaml.length, yaml, files, wanted);
  }

  /** As replaceSection(). */
  async replaceSection(yaml: string, files: Files, section: EditableSection, value: unknown): Promise<ShownReading> {
    if (isSmall(yaml, files) && roomAfter(value, smallText) > 0) return tasks.replaceSection(yaml, files, section, value);
    return this.#pool.run("replaceSection", yaml.length, yaml, files, section, value);
  }

  /** As sourceLines(). */
  async lines(yaml: string, files: Files): Promise<SourceLines> {
    return isSmall(yaml, files) ? tasks.sourceLines(yaml, files) : this.#pool.run("sourceLines", yaml.length, yaml, files);
  }

  /** As filterPlaces(). */
  async filterPlaces(yaml: string, files: Files): Promise<ReadonlyMap<string, ValuePlace>> {
    return isSmall(yaml, files) ? tasks.filterPlaces(yaml, files) : this.#pool.run("filterPlaces", yaml.length, yaml, files);
  }

  /** As fieldPlaces(). */
  async fieldPlaces(yaml: string, files: Files, wanted: readonly FieldName[]): Promise<readonly ValuePlace[]> {
    return isSmall(yaml, files) ? tasks.fieldPlaces(yaml, files, wanted) : this.#pool.run("fieldPlaces", yaml.length, yaml, files, wanted);
  }

  /** As computePlan(). */
  async plan(work: PlanWork): Promise<ComputedPlan> {
    const { desired, observed } = work.input;
    const size = sizeOf(desired) + sizeOf(observed);
    const small = size <= smallLab && isSmall(work.yaml ?? "", work.files) && roomAfter([desired?.nodes, observed?.nodes], smallTexts) > 0;
    return small ? tasks.computePlan(work) : this.#pool.run("computePlan", 200 * size + (work.yaml?.length ?? 0), work);
  }

  /** As importSource(). Always in a thread: a short file of another tool can be long work. */
  importSource(input: SourceInput): Promise<ImportFileData> {
    const { base64 = "", text = "", files = {} } = input;
    const texts = Object.values(files).reduce((sum, { length }) => sum + length, 0);
    const own = this.#mappingFolder;
    return this.#pool.run("importSource", base64.length + text.length + texts, {
      ...input,
      ...(own !== undefined && { mappingFolder: own }),
    });
  }

  /** Keeps a thread ready for the next large intent, see WorkPool.keepReady(). */
  keepReady(): void {
    this.#pool.keepReady();
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

/**
 * With anchors, ranges of nodes, groups of links, variables, addresses, routing or templates, a short text can stand for a very long lab. Finds each of them that
 * YAML can contain: escapes and explicit keys could hide the others, and a line break or a comment may stand before a colon. A startup-config counts unless its value
 * is a text that begins on its line. Ordinary texts that it finds by mistake are only read in a thread. Takes linear time, because it runs in this one.
 */
const canStandForMore =
  /[&\\]|\?\s|\d\.\.\d|\{[^{}:,]*,[^{}:]*\}|\b(?:full-mesh|ring|star|clos|vars|vars-files|addressing|addresses|routing)["']?\s*[:#]|startup-config(?!["']?[ \t]*:[ \t]+[\w"'./|>$-])/;

export function isSmall(yaml: string, files: Files): boolean {
  return yaml.length <= smallText && !canStandForMore.test(yaml) && Object.keys(files).length <= smallFiles;
}

/** Returns `room` minus the size of a value, in characters. Stops as soon as the result is negative. */
function roomAfter(value: unknown, room: number): number {
  if (typeof value === "string") return room - value.length;
  if (typeof value !== "object" || value === null) return room - 1;
  let left = room;
  for (const key in value) {
    left = roomAfter(value[key as keyof typeof value], left - key.length);
    if (left <= 0) break;
  }
  return left;
}

interface Sized {
  readonly nodes: readonly unknown[];
  readonly networks: readonly unknown[];
  readonly links: readonly unknown[];
}

function sizeOf(lab: Sized | null): number {
  return lab === null ? 0 : lab.nodes.length + lab.networks.length + lab.links.length;
}
