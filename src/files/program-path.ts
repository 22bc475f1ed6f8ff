import { fileURLToPath } from "node:url";

/**
 * Paths within this package. A module runs from the sources (src), compiled (dist) or as a part of a bundle (dist/bundle), where its own path is that of
 * the bundle's file: paths are built from the folder of the package.
 */
const [, root = "", tree = ""] = /^(.*\/)(src|dist\/bundle|dist)\//.exec(import.meta.url) ?? [];

/** Returns the absolute path of a file or folder of the package, such as "templates". */
export function packagePath(name: string): string {
  return fileURLToPath(new URL(name, root));
}

/** Returns the absolute path of a program of the package, such as "server/main", in the same form as this one: a source, compiled or bundled. */
export function programPath(name: string): string {
  return packagePath(`${tree}/${name}.${tree === "src" ? "ts" : "js"}`);
}
