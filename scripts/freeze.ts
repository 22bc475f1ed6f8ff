/**
 * API v1 is append-only: schema/v1.frozen.json is what it has promised. Without arguments: tells what differs, exit code 1 where a promise
 * is broken or something new is not frozen yet. With --add: freezes what is new; a broken promise is never written. npm run generate adds, too.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { compareSurfaces } from "./surface/compare.ts";
import { frozenFile, frozenSurface, frozenText } from "./surface/frozen.ts";
import { surfaceNow } from "./surface/surface.ts";

const { broken, added } = compareSurfaces(await frozenSurface(), surfaceNow());
for (const line of broken) console.log(`broken: ${line}`);
if (broken.length > 0) process.exitCode = 1;
else if (process.argv.includes("--add")) {
  await writeFile(join(import.meta.dirname, "..", frozenFile), frozenText(surfaceNow()));
  console.log(`frozen: ${added.length} additions`);
} else if (added.length > 0) {
  for (const line of added) console.log(`new: ${line}`);
  console.log("node scripts/freeze.ts --add freezes them");
  process.exitCode = 1;
}
