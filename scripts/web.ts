/** Builds the web pages into dist/web. */
import { join } from "node:path";
import { build } from "vite";
import { buildOnce } from "./build-once.ts";

const root = join(import.meta.dirname, "..");

await buildOnce({
  what: "web pages",
  target: "dist/web",
  sources: [
    "vite.config.ts",
    "schema/lab.schema.json",
    "src/{web,client,contract,intent,base}/**/*",
    "labs/**/*",
    "scripts/example-labs.ts",
  ],
  build: () => build({ configFile: join(root, "vite.config.ts"), root: join(root, "src/web"), logLevel: "warn" }),
});
