import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");

export interface Import {
  readonly file: string;
  readonly from: string;
  readonly typeOnly: boolean;
}

/** Test code may import anything; nothing but test code may import it. */
export const isTestCode = (file: string) => /\.(test|arbitrary|fixture)\.ts$/.test(file);

export const sources = globSync("**/*.{ts,tsx}", { cwd: join(root, "src") }).sort();
export const imports = (await Promise.all(sources.filter((file) => !isTestCode(file)).map(importsOf))).flat();

async function importsOf(file: string): Promise<Import[]> {
  const text = (await readFile(join(root, "src", file), "utf8")).replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");
  const statements = text.matchAll(/^\s*(?:import|export)\s+(type\s)?([^"';]*?)\s*from\s*"([^"]+)"/gm);
  const found = [...statements].map(([, type, names = "", from = ""]) => ({
    file,
    from,
    typeOnly: type !== undefined || onlyTypes(names),
  }));
  const bare = [...text.matchAll(/^\s*import\s*"([^"]+)"/gm), ...text.matchAll(/\bimport\(\s*"([^"]+)"\s*\)(?!\.[A-Z])/g)];
  return [...found, ...bare.map(([, from = ""]) => ({ file, from, typeOnly: false }))];
}

/** `{ type A, type B }` */
function onlyTypes(names: string): boolean {
  const inside = /^\{([\s\S]*)\}$/.exec(names.trim())?.[1];
  return inside?.split(",").every((name) => name.trim() === "" || name.trim().startsWith("type ")) ?? false;
}
