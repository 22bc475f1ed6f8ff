import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { packagePath } from "./program-path.ts";

/** Returns the texts of Labwright's own template files, which are installed with the program. */
export async function templateTexts(): Promise<readonly string[]> {
  const directory = packagePath("templates");
  const names = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith(".yaml")).sort();
  return Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
}
