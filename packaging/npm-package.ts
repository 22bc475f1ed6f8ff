import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { prebuiltPath, programSources } from "../src/hosts/local/setup/programs/build-program.ts";
import { compileProgram, programNames } from "../src/hosts/local/setup/programs/compile.ts";
import { checkProgram } from "./check-program.ts";
import { processorNames, processors } from "./processors.ts";
import { run } from "./run.ts";

/**
 * Packs the checkout, which is built already, adds the C programs for every processor, and packs the result into `release`. Returns the path of the
 * archive, and of the directory below `work` that has the same content.
 */
export async function npmPackage(
  root: string,
  work: string,
  release: string,
): Promise<{ readonly archive: string; readonly content: string }> {
  const content = join(work, "package");
  await mkdir(content, { recursive: true });
  await unpack(pack(root, work), content);
  for (const processor of processorNames)
    for (const name of programNames) {
      const out = prebuiltPath(join(content, "prebuilt"), name, processor);
      await mkdir(dirname(out), { recursive: true });
      await compileProgram(name, { out, compiler: processors[processor].compiler });
      await checkProgram(out, processor);
      await writeFile(`${out}.digest`, await programSources(name, processor));
    }
  await dropDevelopment(join(content, "package.json"));
  return { archive: pack(content, release), content };
}

/** Users get no scripts, workspaces and tools of development: they name files that are not in the package. */
async function dropDevelopment(file: string): Promise<void> {
  const { scripts: _, workspaces: _workspaces, devDependencies: _dev, ...kept } = JSON.parse(await readFile(file, "utf8"));
  await writeFile(file, `${JSON.stringify(kept, null, 2)}\n`);
}

/** Returns the path of the archive. */
export function pack(from: string, to: string): string {
  const [{ filename }] = JSON.parse(run(["npm", "pack", "--json", "--ignore-scripts", "--pack-destination", to], { cwd: from }).stdout);
  return join(to, filename);
}

/** Unpacks an archive of npm into a directory that exists and is empty. */
export async function unpack(archive: string, to: string): Promise<void> {
  run(["tar", "xzf", archive, "--strip-components=1", "--no-same-owner", "-C", to]);
  if ((await readdir(to)).length === 0) throw new Error(`${archive} is empty`);
}
