import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { lockedPackage } from "./locked-packages.ts";
import { unpack } from "./npm-package.ts";
import type { Processor } from "./processors.ts";
import { run } from "./run.ts";

/**
 * Fetches the Node of package-lock.json for a processor with npm, and compares it with the integrity there. Returns a directory below `work` with
 * bin/node and LICENSE.
 */
export async function nodeProgram(root: string, work: string, processor: Processor): Promise<string> {
  const name = `node-linux-${processor}`;
  const { version, integrity } = await lockedPackage(root, name);
  const directory = join(work, name);
  await mkdir(directory, { recursive: true });
  run(["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", work, `${name}@${version}`], { cwd: work });
  const archive = join(work, `${name}-${version}.tgz`);
  const got = `sha512-${createHash("sha512")
    .update(await readFile(archive))
    .digest("base64")}`;
  if (got !== integrity) throw new Error(`${name}@${version} has the integrity ${got}, and package-lock.json has ${integrity}`);
  await unpack(archive, directory);
  return directory;
}
