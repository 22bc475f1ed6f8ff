/**
 * Writes what is generated from the code: schema/openapi.json, schema/lab.schema.json, docs/errors.md, docs/api.md. They are committed.
 * With --check nothing is written: names the files that are stale and exits 1.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { openApiDocument } from "../src/contract/openapi.ts";
import { labSchema } from "../src/intent/schema.ts";
import { apiPage } from "./pages/api.ts";
import { errorsPage } from "./pages/errors.ts";

const root = join(import.meta.dirname, "..");
const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };

const files: Readonly<Record<string, string>> = {
  "schema/openapi.json": `${JSON.stringify(openApiDocument(version), null, 2)}\n`,
  "schema/lab.schema.json": `${JSON.stringify(labSchema, null, 2)}\n`,
  "docs/errors.md": errorsPage(),
  "docs/api.md": apiPage(),
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
