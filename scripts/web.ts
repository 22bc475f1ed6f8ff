/** Builds the web pages into dist/web if they are missing or their sources have changed. Repeated runs do nothing. */
import { createHash } from "node:crypto";
import { glob, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "vite";

const root = join(import.meta.dirname, "..");
const stamp = join(root, "dist/web/.digest");
const started = performance.now();

const hash = createHash("sha256");
const files: string[] = ["package-lock.json", "vite.config.ts", "schema/lab.schema.json"];
for await (const file of glob("src/{web,client,contract}/**/*", { cwd: root, withFileTypes: true })) {
  if (file.isFile()) files.push(join(file.parentPath, file.name).slice(root.length + 1));
}
for (const file of files.sort()) hash.update(`\0${file}\0`).update(await readFile(join(root, file)));
const digest = hash.digest("hex");

const built = await readFile(stamp, "utf8").catch((error: NodeJS.ErrnoException) => {
  if (error.code === "ENOENT") return undefined;
  throw error;
});
if (built !== digest) {
  await build({ configFile: join(root, "vite.config.ts"), root: join(root, "src/web"), logLevel: "warn" });
  await writeFile(stamp, digest);
}
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(`web pages: ${built === digest ? "up to date" : "built dist/web"} (${seconds} s)`);
