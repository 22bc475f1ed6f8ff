/**
 * Writes the files that are generated from the code: schema/openapi.json, schema/lab.schema.json, docs/errors.md, docs/api.md. They are committed.
 * With --check it writes nothing, names stale files and exits with 1. It adds additions of the contract to schema/v1.frozen.json. A breaking change is named,
 * exits with 1, and is never written.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { openApiDocument } from "../src/contract/openapi.ts";
import { labSchema } from "../src/intent/schema.ts";
import { apiPage } from "./pages/api.ts";
import { errorsPage } from "./pages/errors.ts";
import { compareSurfaces } from "./surface/compare.ts";
import { frozenFile, frozenSurface, frozenText } from "./surface/frozen.ts";
import { surfaceNow } from "./surface/surface.ts";

const root = join(import.meta.dirname, "..");
const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };

const { broken } = compareSurfaces(await frozenSurface(), surfaceNow());
for (const line of broken) console.log(`breaks API v1: ${line} (never released? take it out of ${frozenFile})`);
if (broken.length > 0) process.exitCode = 1;

const files: Readonly<Record<string, string>> = {
  "schema/openapi.json": `${JSON.stringify(openApiDocument(version), null, 2)}\n`,
  "schema/lab.schema.json": `${JSON.stringify(labSchema, null, 2)}\n`,
  "docs/errors.md": errorsPage(),
  "docs/api.md": apiPage(),
  ...(broken.length === 0 && { [frozenFile]: frozenText(surfaceNow()) }),
};

const check = process.argv.includes("--check");
const stale: string[] = [];
for (const [path, text] of Object.entries(files)) {
  if ((await readOrNothing(join(root, path))) === text) continue;
  stale.push(path);
  if (check) continue;
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}
for (const path of stale) console.log(check ? `stale: ${path} (npm run generate)` : `wrote ${path}`);
if (check && stale.length > 0) process.exitCode = 1;

async function readOrNothing(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
