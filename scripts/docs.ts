/** Builds the documentation that the service shows below /docs into dist/docs. */
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { build } from "vite";
import { buildOnce } from "./build-once.ts";
import { siteFiles } from "./docs-site/site.ts";

const root = join(import.meta.dirname, "..");
const target = join(root, "dist/docs");

await buildOnce({
  what: "documentation",
  target: "dist/docs",
  sources: ["scripts/docs.ts", "src/web/icon.svg", "*.md", "docs/**/*", "scripts/docs-site/*", "src/web/docs/*"],
  build: buildSite,
});

async function buildSite(): Promise<void> {
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
}
