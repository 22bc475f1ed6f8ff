import { spawnSync } from "node:child_process";
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkProgram } from "./check-program.ts";
import { nodeProgram } from "./node-program.ts";
import { type Processor, processorNames, processors } from "./processors.ts";
import { run } from "./run.ts";

const scripts = join(import.meta.dirname, "install-tests");

/**
 * Installs what lies in `release` into fresh root file systems of Debian and runs a lab there. Throws an Error at the first thing that is wrong.
 * Only for the processor of this machine; of the other ones, the packages' content is checked.
 */
export async function testInstallation(root: string, release: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), "labwright-install-"));
  try {
    run(["chmod", "755", work]);
    for (const processor of processorNames) await testContent(release, work, processor);
    const base = join(work, "base");
    console.log("a fresh Debian 12");
    run(["debootstrap", "--variant=minbase", "bookworm", base, debianMirror()], {
      env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
    });
    await useAptSettings(base);
    const debian = await copyOf(base, join(work, "debian"), root);
    const [deb = ""] = (await readdir(release)).filter((name) => name.endsWith(`_${processors[ownProcessor()].debian}.deb`));
    await copyFile(join(release, deb), join(debian, "root", deb));
    enter(debian, "debian.sh");
    const npm = await copyOf(base, join(work, "npm"), root);
    await installWithNpm(root, release, work, npm);
    enter(npm, "npm.sh");
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function ownProcessor(): Processor {
  const found = processorNames.find((name) => name === process.arch);
  if (found === undefined) throw new Error(`there is no release for ${process.arch}`);
  return found;
}

/** The programs of a Debian package are for its processor, and man accepts its pages without a warning. */
async function testContent(release: string, work: string, processor: Processor): Promise<void> {
  const { debian } = processors[processor];
  console.log(`content of the package for ${debian}`);
  const [deb = ""] = (await readdir(release)).filter((name) => name.endsWith(`_${debian}.deb`));
  const tree = join(work, debian);
  run(["dpkg-deb", "--extract", join(release, deb), tree]);
  const prebuilt = join(tree, "usr/lib/labwright/prebuilt");
  if ((await readdir(prebuilt)).join() !== processor) throw new Error(`${deb} has programs for ${(await readdir(prebuilt)).join(", ")}`);
  const programs = (await readdir(join(prebuilt, processor))).filter((name) => !name.endsWith(".digest"));
  for (const name of programs) await checkProgram(join(prebuilt, processor, name), processor);
  const machine = (await readFile(join(tree, "usr/lib/labwright/bin/node"))).readUInt16LE(18);
  if (machine !== processors[processor].elfMachine) throw new Error(`the Node of ${deb} is for ELF machine ${machine}`);
  const manual = join(tree, "usr/share/man/man1");
  for (const page of await readdir(manual)) {
    const { stdout, stderr } = run(["man", "--warnings=w", "--local-file", join(manual, page)], {
      env: { ...process.env, LC_ALL: "C.UTF-8", MANROFFSEQ: "", MANWIDTH: "120" },
    });
    if (stderr !== "" || !stdout.includes("NAME")) throw new Error(`man does not accept ${page}: ${stderr}`);
  }
}

/** The mirror of Debian 12 that this machine uses. Throws if it uses none. */
function debianMirror(): string {
  const targets = run(["apt-get", "indextargets", "--format", "$(RELEASE) $(COMPONENT) $(REPO_URI)"]).stdout;
  const mirror = /^bookworm main (\S+)$/m.exec(targets)?.[1];
  if (mirror === undefined)
    throw new Error("apt knows no mirror of bookworm main: add one to its sources, from which the fresh root is made");
  return mirror;
}

/** Downloads in the root file system work as they do on this machine: its proxy, its name servers. */
async function useAptSettings(base: string): Promise<void> {
  const settings = run(["apt-config", "dump"])
    .stdout.split("\n")
    .filter((line) => line.startsWith("Acquire::"));
  await writeFile(join(base, "etc/apt/apt.conf.d/10machine"), `${settings.join("\n")}\n`);
  await copyFile("/etc/resolv.conf", join(base, "etc/resolv.conf"));
}

/** A root file system of its own for a test, with its scripts and the first lab of README.md in /root. */
async function copyOf(base: string, to: string, root: string): Promise<string> {
  run(["cp", "-a", base, to]);
  await cp(scripts, join(to, "root/install-tests"), { recursive: true });
  const lab = /^```yaml lab\n(.*?)^```$/ms.exec(await readFile(join(root, "README.md"), "utf8"))?.[1];
  if (lab === undefined) throw new Error("README.md has no lab");
  await writeFile(join(to, "root/lab.yaml"), lab);
  return to;
}

/** As `npm install -g`, with the machine's own npm, and a Node of the required version beside it. */
async function installWithNpm(root: string, release: string, work: string, to: string): Promise<void> {
  const [archive = ""] = (await readdir(release)).filter((name) => name.endsWith(".tgz"));
  run(["npm", "install", "--global", "--prefix", join(to, "opt/labwright"), join(release, archive)], { cwd: work });
  const node = await nodeProgram(root, work, ownProcessor());
  await mkdir(join(to, "opt/node/bin"), { recursive: true });
  await copyFile(join(node, "bin/node"), join(to, "opt/node/bin/node"));
}

function enter(root: string, script: string): void {
  console.log(script);
  const { status, signal, error } = spawnSync("sh", [join(scripts, "enter.sh"), root, "sh", `/root/install-tests/${script}`], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${script} ended with ${status ?? signal}`);
}
