import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { IndexedFile } from "./file-index.ts";

export type Modules = readonly { readonly name: string; readonly file: IndexedFile }[];

/** Returns the tables that modprobe reads, by their names. @param pathOf returns the path from their folder to a module */
export async function modprobeTables(
  modules: Modules,
  index: ReadonlyMap<string, IndexedFile>,
  pathOf: (module: Modules[number]) => string,
): Promise<Readonly<Record<string, string>>> {
  const dependencies: string[] = [];
  const aliases: string[] = [];
  for (const module of modules) {
    const { name, file } = module;
    const needed = (await moduleClosure([name], index)).filter((one) => one.name !== name).reverse();
    dependencies.push(`${pathOf(module)}:${needed.map((one) => ` ${pathOf(one)}`).join("")}\n`);
    const text = await readFile(file.source, "latin1");
    for (const [, alias] of text.matchAll(/\0alias=([^\0]+)(?=\0)/g)) aliases.push(`alias ${alias} ${name}\n`);
  }
  return { "modules.dep": dependencies.join(""), "modules.alias": aliases.sort().join("") };
}

/**
 * Returns the modules and their dependencies in loading order. A module without a file must be built into the kernel, according to `builtin`;
 * otherwise throws.
 */
export async function moduleClosure(names: readonly string[], index: ReadonlyMap<string, IndexedFile>): Promise<Modules> {
  const files = new Map<string, IndexedFile>();
  let builtin: readonly string[] = [];
  for (const [path, file] of index) {
    if (path.endsWith(".ko")) files.set(moduleName(path), file);
    if (path.endsWith("/modules.builtin")) builtin = (await readFile(file.source, "utf8")).split("\n").map(moduleName);
  }
  const ordered: { readonly name: string; readonly file: IndexedFile }[] = [];
  const visited = new Set<string>();
  const add = async (name: string, wantedBy: string): Promise<void> => {
    if (visited.has(name)) return;
    visited.add(name);
    const file = files.get(name);
    if (file === undefined) {
      if (builtin.includes(name)) return;
      throw new Error(`the kernel package has no module ${name}, which ${wantedBy} needs`);
    }
    for (const needed of dependencies(await readFile(file.source))) await add(needed, name);
    ordered.push({ name, file });
  };
  for (const name of names) await add(name, "the recipe");
  return ordered;
}

function moduleName(path: string): string {
  return basename(path, ".ko").replaceAll("-", "_");
}

/** Read from the module's .modinfo section: "depends=a,b". */
function dependencies(module: Buffer): readonly string[] {
  const word = Buffer.from("\0depends=");
  const at = module.indexOf(word);
  if (at < 0) return [];
  const start = at + word.length;
  const text = module.toString("latin1", start, module.indexOf(0, start));
  return text === "" ? [] : text.split(",").map((name) => name.replaceAll("-", "_"));
}
