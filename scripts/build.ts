/**
 * Builds dist/, the content of the published package: compiles the sources, removes files of deleted sources, and bundles the programs.
 * npm pack and npm publish call it.
 */
import { spawnSync } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

// The two programs and, by their project references, everything that they run. The root project contains the tests.
const { status, error } = spawnSync("tsc", ["-b", "src/cli", "src/server"], { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
if (error !== undefined) throw error;
if (status !== 0) process.exit(1);

await import("./bundle.ts");
await import("./web.ts");
await import("./docs.ts");

const sources = new Set(
  (await readdir(join(root, "src"), { recursive: true })).filter(isProduct).map((name) => name.slice(0, -".ts".length)),
);
for (const name of await readdir(dist, { recursive: true })) {
  if (name.startsWith("bundle/") || name.startsWith("web/") || name.startsWith("docs/") || name.startsWith(".types")) continue;
  const emitted = /^(.*)\.(?:js|d\.ts)(?:\.map)?$/.exec(name)?.[1];
  if (emitted !== undefined && !sources.has(emitted)) await rm(join(dist, name));
}

/** Returns whether a source belongs to the package: no test code. The tsconfig.json of each layer excludes the same files. */
function isProduct(name: string): boolean {
  return /\.ts$/.test(name) && !/\.(test|arbitrary|fixture)\.ts$|^hosts\/conformance\//.test(name);
}
