/**
 * Makes release/: the npm package with prebuilt programs, and a Debian package for each processor. With --test it then installs them in fresh root
 * file systems, as users do. Needs the compilers that it names if they are missing.
 */
import { accessSync, constants, existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { parseArgs } from "node:util";
import { debianPackage } from "./debian-package.ts";
import { testInstallation } from "./install-test.ts";
import { nodeProgram } from "./node-program.ts";
import { npmPackage } from "./npm-package.ts";
import { libraryFor, packagesFor, processorNames, processors } from "./processors.ts";
import { run } from "./run.ts";

const root = join(import.meta.dirname, "..");
const release = join(root, "release");

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { test: { type: "boolean" } } });
  requirePrograms(values.test === true);
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
  const work = await mkdtemp(join(tmpdir(), "labwright-release-"));
  try {
    await rm(release, { recursive: true, force: true });
    await mkdir(release);
    run([process.execPath, join(root, "scripts/build.ts")]);
    const { archive, content } = await npmPackage(root, work, release);
    console.log(archive);
    const time = commitTime();
    for (const processor of processorNames) {
      const node = await nodeProgram(root, work, processor);
      console.log(await debianPackage({ root, work, release, content, node, processor, version, time, compression: "xz" }));
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  if (values.test === true) await testInstallation(root, release);
}

function commitTime(): number {
  return Number(run(["git", "log", "-1", "--format=%ct"], { cwd: root }).stdout.trim());
}

/** Throws an Error that names the Debian packages of all programs that are missing. */
function requirePrograms(test: boolean): void {
  const needed: (readonly [program: string, packages: string])[] = [
    ...processorNames.map((name) => [processors[name].compiler, packagesFor(name)] as const),
    ["dpkg-deb", "dpkg"],
    ["git", "git"],
    ...(test
      ? ([
          ["debootstrap", "debootstrap"],
          ["man", "man-db"],
        ] as const)
      : []),
  ];
  const missing = new Set(needed.filter(([program]) => !isOnPath(program)).map(([, packages]) => packages));
  for (const name of processorNames.filter((processor) => !existsSync(libraryFor(processor)))) missing.add(packagesFor(name));
  if (missing.size > 0)
    throw new Error(
      `Debian packages are missing: as root, apt-get install --no-install-recommends ${[...missing].join(" ")}
  Packages with ":" and an architecture need dpkg --add-architecture and apt-get update before.`,
    );
  if (test && process.getuid?.() !== 0) throw new Error("--test installs packages into root file systems and needs root");
}

function isOnPath(program: string): boolean {
  return [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"].some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

try {
  await main();
} catch (error) {
  console.error(`release stopped: ${(error as Error).message}`);
  process.exitCode = 1;
}
