import { readFile } from "node:fs/promises";
import { posix } from "node:path";
import { elfNeeds } from "./elf.ts";
import { type IndexedFile, mergedUsr } from "./file-index.ts";
import type { Recipe } from "./recipes.ts";

/**
 * Returns the files of a recipe with the targets of their symbolic links, their dynamic loaders and shared libraries, without files that `below`
 * already has. `triplet` is the machine's library directory name. Throws an Error that names a file which no package has.
 */
export async function contentsOf(
  recipe: Recipe,
  index: ReadonlyMap<string, IndexedFile>,
  triplet: string,
  below: (path: string) => boolean,
): Promise<ReadonlyMap<string, IndexedFile>> {
  const taken = new Map<string, IndexedFile>();
  const add = async (path: string, wantedBy: string): Promise<void> => {
    if (taken.has(path) || below(path)) return;
    const file = index.get(path);
    if (file === undefined) throw new Error(`image ${recipe.name}: no package has ${path}, which ${wantedBy} needs`);
    taken.set(path, file);
    if (file.target !== undefined) return add(file.target, path);
    const needs = elfNeeds(await readFile(file.source));
    if (needs === undefined) return;
    if (needs.interpreter !== undefined) await add(mergedUsr(needs.interpreter), path);
    const runpath = needs.runpath.map((entry) => entry.replaceAll("$ORIGIN", posix.dirname(path)));
    for (const name of needs.needed) {
      const places = [...runpath, `/usr/lib/${triplet}`, "/usr/lib", "/usr/lib64"].map((place) => mergedUsr(posix.join(place, name)));
      await add(places.find((place) => index.has(place) || below(place)) ?? `/usr/lib/${triplet}/${name}`, path);
    }
  };
  for (const wanted of recipe.take) {
    const paths = matching(wanted.replaceAll("@", triplet), index);
    if (paths.length === 0) throw new Error(`image ${recipe.name}: no package has ${wanted}`);
    for (const path of paths) await add(path, `the recipe of ${recipe.name}`);
  }
  return taken;
}

function matching(wanted: string, index: ReadonlyMap<string, IndexedFile>): readonly string[] {
  if (wanted.endsWith("/")) return [...index.keys()].filter((path) => path.startsWith(wanted)).sort();
  return index.has(wanted) ? [wanted] : [];
}
