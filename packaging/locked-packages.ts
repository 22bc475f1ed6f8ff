import { readFile } from "node:fs/promises";
import { join } from "node:path";

interface LockEntry {
  readonly version?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
  readonly peer?: boolean;
  readonly link?: boolean;
}

async function locked(root: string): Promise<Readonly<Record<string, LockEntry>>> {
  return (JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as { packages: Record<string, LockEntry> }).packages;
}

/** Paths such as node_modules/fastify of every package that the compiled program needs, and those that they need. Sorted. */
export async function runtimePackages(root: string): Promise<readonly string[]> {
  return Object.entries(await locked(root))
    .filter(([path, entry]) => path.startsWith("node_modules/") && !(entry.dev || entry.optional || entry.devOptional || entry.peer))
    .filter(([, { link }]) => link !== true)
    .map(([path]) => path)
    .sort();
}

/** The version and the integrity (`sha512-…`) of a package in package-lock.json. */
export async function lockedPackage(root: string, name: string): Promise<{ readonly version: string; readonly integrity: string }> {
  const { version, integrity } = (await locked(root))[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined) throw new Error(`package-lock.json has no ${name} with a version and an integrity`);
  return { version, integrity };
}
