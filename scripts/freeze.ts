/**
 * API v1 is append-only: schema/v1.frozen.json contains everything that clients may rely on. Without arguments, it prints the differences, with exit code 1
 * if something is broken or new. With --add it freezes additions, but never a breaking change. npm run generate adds too.
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
