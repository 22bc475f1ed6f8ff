/** Builds the documentation that the service shows below /docs into dist/docs, if it is missing or its sources changed. Repeated runs do nothing. */
import { createHash } from "node:crypto";
import { cp, glob, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { build } from "vite";
import { siteFiles } from "./docs-site/site.ts";

const root = join(import.meta.dirname, "..");
const target = join(root, "dist/docs");
const stamp = join(target, ".digest");
const started = performance.now();

const hash = createHash("sha256");
const inputs: string[] = ["package-lock.json", "scripts/docs.ts", "src/web/icon.svg"];
for (const pattern of ["*.md", "docs/**/*", "scripts/docs-site/*", "src/web/docs/*"]) {
  for await (const file of glob(pattern, { cwd: root, withFileTypes: true })) {
    if (file.isFile()) inputs.push(join(file.parentPath, file.name).slice(root.length + 1));
  }
}
for (const file of inputs.sort()) hash.update(`\0${file}\0`).update(await readFile(join(root, file)));
const digest = hash.digest("hex");

const built = await readFile(stamp, "utf8").catch((error: NodeJS.ErrnoException) => {
  if (error.code === "ENOENT") return undefined;
  throw error;
});
if (built !== digest) {
  const files = await siteFiles(root);
  await rm(target, { recursive: true, force: true });
  await build({
    configFile: false,
    root: join(root, "src/web/docs"),
    logLevel: "warn",
    build: {
      outDir: target,
      emptyOutDir: false,
      target: "es2023",
      modulePreload: { polyfill: false },
      rolldownOptions: { input: join(root, "src/web/docs/docs.ts"), output: { entryFileNames: "docs.js" } },
    },
  });
  for (const [name, text] of files) {
    await mkdir(dirname(join(target, name)), { recursive: true });
    await writeFile(join(target, name), text);
  }
  await cp(join(root, "docs/img"), join(target, "img"), { recursive: true });
  await writeFile(stamp, digest);
}
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(`documentation: ${built === digest ? "up to date" : "built dist/docs"} (${seconds} s)`);
