import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { packagePath } from "../../../files/program-path.ts";
import { fileMark } from "../files/file-mark.ts";
import { readTemplate, type TemplateProblem } from "./read-template.ts";
import type { LocalTemplate } from "./template.ts";

/** Labwright's own template files, shipped beside the sources. */
export const builtinTemplates = packagePath("templates");

export interface LoadedTemplates {
  /** Sorted by id. */
  readonly templates: readonly LocalTemplate[];
  /** Why a file gave no template; the others are loaded nevertheless. */
  readonly problems: readonly TemplateProblem[];
}

/** Results of the last read of each file, by path; an unchanged file is not read again. */
export type TemplateMemory = Map<string, { readonly mark: string; readonly read: ReturnType<typeof readTemplate> }>;

/**
 * Reads every *.yaml and *.yml of the directories. A template of a later directory takes the place of one with the same id in an earlier: that
 * is how users replace ours. A directory that does not exist has no templates.
 */
export async function loadTemplates(directories: readonly string[], memory: TemplateMemory = new Map()): Promise<LoadedTemplates> {
  const templates = new Map<string, LocalTemplate>();
  const problems: TemplateProblem[] = [];
  for (const directory of directories) {
    const here = new Map<string, LocalTemplate>();
    for (const name of await templateFiles(directory)) {
      const file = join(directory, name);
      const read = await remembered(file, memory);
      problems.push(...read.problems);
      if (read.template === undefined) continue;
      const twin = here.get(read.template.id);
      if (twin === undefined) here.set(read.template.id, read.template);
      else problems.push({ file, line: 1, column: 1, message: `id "${read.template.id}" is also the id of ${twin.file}` });
    }
    for (const [id, template] of here) templates.set(id, template);
  }
  return { templates: [...templates.values()].sort((a, b) => (a.id < b.id ? -1 : 1)), problems };
}

async function remembered(file: string, memory: TemplateMemory): Promise<ReturnType<typeof readTemplate>> {
  // Taken before the text is read: a file that changes during the read is read again.
  const mark = await fileMark(file);
  const known = memory.get(file);
  if (known !== undefined && known.mark === mark) return known.read;
  const read = readTemplate(file, await readFile(file, "utf8"));
  if (mark !== undefined) memory.set(file, { mark, read });
  return read;
}

async function templateFiles(directory: string): Promise<readonly string[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return names.filter((name) => /\.ya?ml$/.test(name)).sort();
}
