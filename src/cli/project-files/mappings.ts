import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Mapping } from "../../importers/mapping/mapping.ts";
import { readMapping } from "../../importers/mapping/read-mapping.ts";
import { fileFailure } from "./file-failure.ts";

/** Reads tables of node types: files, and the YAML files of folders. Earlier ones win. Throws for a table with a mistake. */
export async function readMappings(paths: readonly string[]): Promise<Mapping> {
  const tables = await Promise.all(paths.map(tablesOf));
  return readMapping(tables.flat());
}

async function tablesOf(path: string): Promise<readonly { readonly file: string; readonly text: string }[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [{ file: path, text: await readFile(path, "utf8") }];
    const names = (await readdir(path)).filter((name) => /\.ya?ml$/.test(name)).sort();
    return await Promise.all(names.map(async (name) => ({ file: name, text: await readFile(join(path, name), "utf8") })));
  } catch (error) {
    throw fileFailure(error, path);
  }
}
