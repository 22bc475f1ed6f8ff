import { createHash } from "node:crypto";
import { chmod, copyFile, cp, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { commands } from "../src/cli/commands.ts";
import { completionScript } from "../src/cli/completion.ts";
import { apiUnit } from "../src/cli/service/api-unit.ts";
import { systemdUnit } from "../src/cli/service/systemd-unit.ts";
import { runtimePackages } from "./locked-packages.ts";
import { manPages } from "./man-pages.ts";
import { type Processor, processorNames, processors } from "./processors.ts";
import { run } from "./run.ts";

interface Parts {
  readonly root: string;
  readonly work: string;
  readonly release: string;
  /** Directory with the content of the npm package. */
  readonly content: string;
  /** Directory with bin/node and LICENSE for the processor. */
  readonly node: string;
  readonly processor: Processor;
  readonly version: string;
  /** Seconds since 1970; the time of every file, so that the same commit makes the same package. */
  readonly time: number;
  /** none: for tests, where the time counts. */
  readonly compression: "xz" | "none";
}

/** Debian packages that Labwright runs on. What nodes contain is fetched by set-up, and installed nowhere. */
const depends = [
  "apt",
  "busybox | busybox-static",
  "e2fsprogs",
  "iproute2",
  "libc6 (>= 2.28)",
  "libgcc-s1",
  "libstdc++6 (>= 6)",
  "lz4",
  "nftables",
  "procps",
  "squashfs-tools",
  "wireshark-common",
  "xz-utils",
];

const home = "usr/lib/labwright";
const own = import.meta.dirname;

/** Makes the Debian package for a processor in `release`; returns its path. */
export async function debianPackage(parts: Parts): Promise<string> {
  const tree = join(parts.work, `deb-${parts.processor}`);
  await mkdir(tree, { recursive: true });
  await putProgram(tree, parts);
  await putDocuments(tree, parts);
  await putServiceAndShells(tree);
  await putControl(tree, parts);
  await normalModes(tree);
  const file = join(parts.release, `labwright_${debianVersion(parts.version)}_${processors[parts.processor].debian}.deb`);
  await rm(file, { force: true });
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(parts.time) };
  run(["dpkg-deb", "--root-owner-group", `-Z${parts.compression}`, "--build", tree, file], { env });
  return file;
}

/** A version such as 1.0.0-rc.1 comes before 1.0.0: Debian writes that as 1.0.0~rc.1. */
export function debianVersion(version: string): string {
  return version.replace("-", "~");
}

async function putProgram(tree: string, { root, content, node, processor }: Parts): Promise<void> {
  const to = join(tree, home);
  await cp(content, to, { recursive: true });
  for (const other of processorNames) if (other !== processor) await rm(join(to, "prebuilt", other), { recursive: true });
  for (const name of ["docs", "examples", "README.md", "LICENSE"]) await rm(join(to, name), { recursive: true });
  for (const path of await runtimePackages(root)) {
    // A package inside of another one is copied with it.
    if (path.indexOf("node_modules/", 1) < 0) await cp(join(root, path), join(to, path), { recursive: true });
  }
  const compiled = (await readdir(to, { recursive: true })).filter((name) => name.endsWith(".node"));
  if (compiled.length > 0) throw new Error(`${compiled.join(", ")}: a package with compiled parts runs on one processor only`);
  await mkdir(join(to, "bin"), { recursive: true });
  await copyFile(join(node, "bin/node"), join(to, "bin/node"));
  await put(join(tree, "usr/bin/labwright"), await readFile(join(own, "debian/labwright.sh"), "utf8"));
}

async function putDocuments(tree: string, { content, root, node, version, time }: Parts): Promise<void> {
  const documents = join(tree, "usr/share/doc/labwright");
  await mkdir(documents, { recursive: true });
  for (const name of ["docs", "examples", "README.md"]) await cp(join(content, name), join(documents, name), { recursive: true });
  // The playbook and the manifests of docs/how-to/fleet.md.
  for (const name of ["ansible", "kubernetes"]) await cp(join(own, name), join(documents, name), { recursive: true });
  await symlink("/usr/lib/labwright/labs", join(documents, "labs"));
  await put(join(documents, "changelog.gz"), gzipSync(await readFile(join(root, "CHANGELOG.md")), { level: 9 }));
  await put(join(documents, "copyright"), await copyright(root, node));
  const date = new Date(time * 1000).toISOString().slice(0, 10);
  for (const { file, text } of manPages(commands, { version, date }))
    await put(join(tree, "usr/share/man/man1", `${file}.gz`), gzipSync(text, { level: 9 }));
}

/** The licences of Labwright, of the Node that it brings, and of the npm packages that it brings. */
async function copyright(root: string, node: string): Promise<string> {
  const parts = [`Labwright\n\n${await readFile(join(root, "LICENSE"), "utf8")}`];
  for (const path of await runtimePackages(root)) {
    const [file] = (await readdir(join(root, path))).filter((name) => /^(licen[cs]e|copying)/i.test(name)).sort();
    const { name, license } = JSON.parse(await readFile(join(root, path, "package.json"), "utf8")) as { name: string; license: string };
    parts.push(`/${home}/${path}: ${name}, ${license}\n\n${file === undefined ? "" : await readFile(join(root, path, file), "utf8")}`);
  }
  parts.push(`/${home}/bin/node: Node.js\n\n${await readFile(join(node, "LICENSE"), "utf8")}`);
  return parts.map((part) => `${part.trimEnd()}\n`).join(`\n${"-".repeat(80)}\n\n`);
}

async function putServiceAndShells(tree: string): Promise<void> {
  await put(join(tree, "usr/lib/systemd/system/labwright.service"), systemdUnit(["/usr/bin/labwright", "serve"]));
  await put(join(tree, "usr/lib/systemd/system/labwright-api.service"), apiUnit(["/usr/bin/labwright", "serve"]));
  for (const name of ["labwright", "labwright-api"])
    await put(join(tree, "etc/default", name), await readFile(join(own, `debian/${name}.default`), "utf8"));
  const shells = {
    "usr/share/bash-completion/completions/labwright": completionScript("bash", commands),
    // zsh loads the file as the body of the function, at the first completion.
    "usr/share/zsh/vendor-completions/_labwright": `${completionScript("zsh", commands)}_labwright "$@"\n`,
    "usr/share/fish/vendor_completions.d/labwright.fish": completionScript("fish", commands),
  };
  for (const [path, text] of Object.entries(shells)) await put(join(tree, path), text);
}

async function putControl(tree: string, { version, processor, root }: Parts): Promise<void> {
  const { description, homepage } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as Record<string, string>;
  const files = (await filesBelow(tree)).filter((name) => !name.startsWith("DEBIAN/"));
  let bytes = 0;
  const sums: string[] = [];
  for (const name of files) {
    const path = join(tree, name);
    bytes += (await stat(path)).size;
    sums.push(
      `${createHash("md5")
        .update(await readFile(path))
        .digest("hex")}  ${name}\n`,
    );
  }
  const control = [
    "Package: labwright",
    `Version: ${debianVersion(version)}`,
    `Architecture: ${processors[processor].debian}`,
    "Maintainer: Labwright maintainers",
    `Installed-Size: ${Math.ceil(bytes / 1024)}`,
    `Depends: ${depends.join(", ")}`,
    "Section: net",
    "Priority: optional",
    `Homepage: ${homepage}`,
    "Description: network labs as YAML",
    ` ${description}.`,
    " This package brings its own Node.js. After its installation, labwright setup",
    " builds the root file systems of nodes from Debian packages.",
  ];
  await put(join(tree, "DEBIAN/control"), `${control.join("\n")}\n`);
  await put(join(tree, "DEBIAN/md5sums"), sums.join(""));
  await put(join(tree, "DEBIAN/conffiles"), "/etc/default/labwright\n/etc/default/labwright-api\n");
  for (const name of ["postinst", "prerm", "postrm"])
    await put(join(tree, "DEBIAN", name), await readFile(join(own, "debian", name), "utf8"));
}

async function put(path: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}

/** Regular files below a directory, sorted. */
async function filesBelow(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .sort();
}

/** Modes do not depend on the umask of the build: programs 0755, other files 0644, directories 0755. */
async function normalModes(tree: string): Promise<void> {
  await chmod(tree, 0o755);
  for (const entry of await readdir(tree, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(path, 0o755);
    else if (entry.isFile()) await chmod(path, isProgram(path.slice(tree.length + 1), (await stat(path)).mode) ? 0o755 : 0o644);
  }
}

function isProgram(name: string, mode: number): boolean {
  return /^(usr\/bin\/|DEBIAN\/(postinst|prerm|postrm)$)/.test(name) || name === `${home}/bin/node` || (mode & 0o111) !== 0;
}
