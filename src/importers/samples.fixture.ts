import { readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Returns the files of a sample: a file, or a folder with everything in it. @param name below src/importers/formats */
export function sample(name: string): Readonly<Record<string, Uint8Array>> {
  const root = fileURLToPath(new URL(`./formats/${name}`, import.meta.url));
  if (!statSync(root).isDirectory()) return { [name.slice(name.lastIndexOf("/") + 1)]: readFileSync(root) };
  const paths = readdirSync(root, { recursive: true })
    .map(String)
    .filter((path) => statSync(`${root}/${path}`).isFile());
  return Object.fromEntries(paths.sort().map((path) => [path, readFileSync(`${root}/${path}`)]));
}
