import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { ifThere } from "./if-there.ts";
import { packagePath } from "./program-path.ts";
import { readPlain } from "./read-plain-file.ts";

/** A table of node types as text. */
export interface TableText {
  /** Its path, as messages show it. */
  readonly file: string;
  readonly text: string;
}

/** The folder of the tables that ship. */
export const shippedTables = (): string => packagePath("mappings");

/**
 * Reads tables of node types: files, and the YAML files of folders, sorted by name. Throws the errors of the file system.
 * @param optional a folder that need not exist; its tables come after those of `paths`
 */
export async function readTables(paths: readonly string[], optional?: string): Promise<readonly TableText[]> {
  const named = await Promise.all(paths.map(tablesOf));
  const isThere = optional !== undefined && (await ifThere(stat(optional))) !== undefined;
  return [...named.flat(), ...(isThere ? await tablesOf(optional) : [])];
}

async function tablesOf(path: string): Promise<readonly TableText[]> {
  if (!(await stat(path)).isDirectory()) return [{ file: path, text: await readPlain(path) }];
  const names = (await readdir(path)).filter((name) => /\.ya?ml$/.test(name)).sort();
  return Promise.all(names.map(async (name) => ({ file: join(path, name), text: await readPlain(join(path, name)) })));
}
