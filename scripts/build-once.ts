import { createHash } from "node:crypto";
import { glob, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

export interface BuiltFolder {
  /** For the report, such as "web pages". */
  readonly what: string;
  /** Path in the repository, such as "dist/web". A digest of the sources is kept there. */
  readonly target: string;
  /** Files, and patterns of files, that decide about the result. package-lock.json always does. */
  readonly sources: readonly string[];
  readonly build: () => Promise<unknown>;
}

/** Builds a folder if it is missing or its sources changed, and reports what it did. Repeated runs do nothing. */
export async function buildOnce({ what, target, sources, build }: BuiltFolder): Promise<void> {
  const started = performance.now();
  const stamp = join(root, target, ".digest");
  const digest = await digestOf(sources);
  const built = await readFile(stamp, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (built !== digest) {
    await build();
    await writeFile(stamp, digest);
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${what}: ${built === digest ? "up to date" : `built ${target}`} (${seconds} s)`);
}

async function digestOf(sources: readonly string[]): Promise<string> {
  const files = new Set<string>();
  for await (const file of glob(["package-lock.json", ...sources], { cwd: root, withFileTypes: true })) {
    if (file.isFile()) files.add(join(file.parentPath, file.name).slice(root.length + 1));
  }
  const hash = createHash("sha256");
  for (const file of [...files].sort()) hash.update(`\0${file}\0`).update(await readFile(join(root, file)));
  return hash.digest("hex");
}
