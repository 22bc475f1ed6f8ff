import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { packagePath } from "../../../../files/program-path.ts";
import { fileMark } from "../../files/file-mark.ts";
import type { LocalTemplate } from "../template.ts";
import type { PreparedTemplate } from "./prepared.ts";
import { problemText, readTemplate, type TemplateProblem } from "./read-template.ts";

/** Labwright's own template files, shipped beside the sources. */
export const builtinTemplates = packagePath("templates");

export interface LoadedTemplates {
  /** Sorted by id. */
  readonly templates: readonly LocalTemplate[];
  /** Why a file gave no template; the others are loaded nevertheless. */
  readonly problems: readonly TemplateProblem[];
}

/** Results of the last read of each file, by path; an unchanged file is not read again. */
export type TemplateMemory = Map<string, TemplateFile>;

interface TemplateFile {
  /** Absent: the file has changed since, or could not be looked at. */
  readonly mark: string | undefined;
  readonly text: string;
  /** The id of the template that it extends. */
  readonly extends: string | undefined;
  /** The extended template that `read` is made with. */
  readonly base?: LocalTemplate | undefined;
  readonly read?: Read;
  /** The template of the last text without problems. It is in use while the file has problems, so that nodes do not lose their console or readiness. */
  readonly valid?: LocalTemplate | undefined;
}

/**
 * Reads every *.yaml and *.yml of the directories and of the folders in them. A template of a later directory takes the place of one with the same id in
 * an earlier: that is how users replace ours. Only a template that extends no other one can be extended. A directory that does not exist has no templates.
 * A template with several ids is there under each of them that no other template has. A file that was valid before and now has problems gives its last valid
 * template, together with the problems.
 */
export async function loadTemplates(
  directories: readonly string[],
  memory: TemplateMemory = new Map(),
  preparedTemplates: Promise<PreparedReads> = preparedReads(),
): Promise<LoadedTemplates> {
  const prepared = await preparedTemplates;
  const readRemembered = (file: string, base: LocalTemplate | undefined) => readOnce({ file, base, memory, prepared });
  const folders = await Promise.all(directories.map(templateFiles));
  forgetRemoved(directories, new Set(folders.flat()), memory);
  await Promise.all(folders.flat().map((file) => remember(file, memory)));
  const bases = new Map<string, LocalTemplate>();
  for (const file of folders.flat()) {
    if (memory.get(file)?.extends !== undefined) continue;
    const template = readRemembered(file, undefined).template ?? memory.get(file)?.valid;
    if (template !== undefined) bases.set(template.id, template);
  }
  const templates = new Map<string, LocalTemplate>();
  const problems: TemplateProblem[] = [];
  for (const files of folders) {
    const here = new Map<string, LocalTemplate>();
    for (const file of files) {
      const read = readRemembered(file, bases.get(memory.get(file)?.extends ?? ""));
      problems.push(...read.problems);
      const template = read.template ?? memory.get(file)?.valid;
      if (template === undefined) continue;
      if (read.template === undefined)
        problems.push({ file, line: 1, column: 1, message: "the last version without problems stays in use until the service restarts" });
      const twin = here.get(template.id);
      if (twin === undefined) here.set(template.id, template);
      else problems.push({ file, line: 1, column: 1, message: `id "${template.id}" is also the id of ${twin.file}` });
    }
    for (const [id, template] of here) templates.set(id, template);
  }
  for (const template of [...templates.values()]) {
    for (const other of otherIds(template)) if (!templates.has(other.id)) templates.set(other.id, other);
  }
  return { templates: [...templates.values()].sort((a, b) => (a.id < b.id ? -1 : 1)), problems };
}

const copies = new WeakMap<LocalTemplate, readonly LocalTemplate[]>();

/** Returns the template under each of its other ids: the same objects each time, so that an unchanged file changes nothing. */
function otherIds(template: LocalTemplate): readonly LocalTemplate[] {
  const known = copies.get(template) ?? template.also.map((id) => ({ ...template, id, also: [], sameAs: template.id }));
  copies.set(template, known);
  return known;
}

async function remember(file: string, memory: TemplateMemory): Promise<void> {
  // Taken before the text is read: a file that changes during the read is read again.
  const mark = await fileMark(file);
  const known = memory.get(file);
  if (known !== undefined && mark !== undefined && known.mark === mark) return;
  const text = await readFile(file, "utf8");
  memory.set(file, { mark, text, extends: /^extends:\s*["']?([a-z0-9][a-z0-9._-]*)/m.exec(text)?.[1], valid: known?.valid });
}

/** Forgets the files of these directories that no longer exist: a removed file has no valid version. */
function forgetRemoved(directories: readonly string[], files: ReadonlySet<string>, memory: TemplateMemory): void {
  for (const file of [...memory.keys()]) {
    if (!files.has(file) && directories.some((directory) => file.startsWith(join(directory, "/")))) memory.delete(file);
  }
}

type Read = ReturnType<typeof readTemplate>;

/** Reads a file of which the memory has the text, unless it was read with the same base before. */
function readOnce({
  file,
  base,
  memory,
  prepared,
}: {
  readonly file: string;
  readonly base: LocalTemplate | undefined;
  readonly memory: TemplateMemory;
  readonly prepared: PreparedReads;
}): Read {
  const known = memory.get(file)!;
  if (known.read !== undefined && known.base === base) return known.read;
  const early = prepared.get(file);
  const isSame = early?.text === known.text && (base === undefined || prepared.get(base.file)?.read.template === base);
  const read = isSame ? early.read : readTemplate(file, known.text, (id) => (id === base?.id ? base : undefined));
  memory.set(file, { ...known, base, read, valid: read.template ?? known.valid });
  return read;
}

/** By path. */
type PreparedReads = ReadonlyMap<string, { readonly text: string; readonly read: Read }>;
let preparedOnce: Promise<PreparedReads> | undefined;

function preparedReads(): Promise<PreparedReads> {
  preparedOnce ??= import("./prepared.ts").then(({ prepared }) => readsOf(prepared));
  return preparedOnce;
}

/** Takes a prepared template as the result of reading its file. */
export function readsOf(prepared: readonly PreparedTemplate[]): PreparedReads {
  return new Map(
    prepared.map(({ name, text, template }) => {
      const file = join(builtinTemplates, name);
      return [file, { text, read: { template: { ...template, file }, problems: [] } }];
    }),
  );
}

/** Returns Labwright's own templates for the bundle. A file with a problem throws. */
export async function prepareTemplates(): Promise<readonly PreparedTemplate[]> {
  const memory: TemplateMemory = new Map();
  const { problems } = await loadTemplates([builtinTemplates], memory);
  if (problems.length > 0) throw new Error(problems.map(problemText).join("\n"));
  return [...memory].map(([file, { text, read }]) => ({ name: relative(builtinTemplates, file), text, template: read!.template! }));
}

async function templateFiles(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith("."));
  const nested = await Promise.all(folders.map(async ({ name }) => (await readdir(join(directory, name))).map((file) => join(name, file))));
  const files = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
  return [...files, ...nested.flat()]
    .filter((name) => /\.ya?ml$/.test(name))
    .sort()
    .map((name) => join(directory, name));
}
