import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { packagePath } from "../../files/program-path.ts";
import { type KnownTemplate, readKnownTemplates } from "../../intent/places/known-templates.ts";

/** Labwright's own template files, which are installed with the program. */
const directory = packagePath("templates");

/** Returns the properties of Labwright's own templates. Needs no service. */
export async function builtinTemplates(): Promise<readonly KnownTemplate[]> {
  const names = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith(".yaml")).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
  return readKnownTemplates(texts);
}
