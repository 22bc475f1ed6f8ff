/**
 * Keeps the PostgreSQL store of this release for the tests of the next one, in which both use one database: test/release-before/postgres-store.js. Run it once after a release whose
 * tables differ from those of the release before, and raise `version` in test/release-before/release-before.ts.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "vite";

const root = join(import.meta.dirname, "..");
const out = join(root, "test/release-before");

await build({
  configFile: false,
  root,
  logLevel: "warn",
  publicDir: false,
  ssr: { noExternal: true, external: ["pg", "typebox", "typebox/value"], target: "node" },
  build: {
    ssr: true,
    outDir: out,
    emptyOutDir: false,
    target: "node24",
    minify: false,
    rolldownOptions: {
      input: { "postgres-store": join(root, "src/service/store/postgres/postgres-store.ts") },
      output: { entryFileNames: "[name].js" },
    },
  },
});
const file = join(out, "postgres-store.js");
await writeFile(
  file,
  `// Written by scripts/keep-release.ts: the store of the release before. Do not edit.\n${await readFile(file, "utf8")}`,
);
