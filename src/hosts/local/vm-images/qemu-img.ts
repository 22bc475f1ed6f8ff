import { spawn } from "node:child_process";
import { access, lstat, mkdir, readdir, readlink, symlink } from "node:fs/promises";
import { delimiter, dirname, join, resolve } from "node:path";
import { ArchiveError } from "../../../files/tar/archive-error.ts";
import { findImages } from "../images/images.ts";
import { idRange } from "../machine/idmap.ts";
import { hypervisorImage } from "../templates/vm-template.ts";
import { wrongImage } from "./refuse.ts";

/** The program qemu-img: words that start it. */
export interface QemuImg {
  readonly argv: readonly string[];
  /** The user it runs as, who has no right but to the files that it gets. Absent: the caller. */
  readonly user?: number;
}

/** A user id of labs that their programs do not use. */
const converter = idRange.base + 65_533;

/** Directories of libraries. */
const libraryFolders = ["usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu"];
const loaderName = /^ld-linux-(x86-64|aarch64)\.so\.\d$/;

/**
 * Finds qemu-img in the image of the hypervisor, or else on the machine. Throws ArchiveError not_found.
 * @param folder made for links to its libraries, if it needs them
 */
export async function findQemuImg(images: string, folder: string): Promise<QemuImg> {
  const user = process.getuid?.() === 0 ? { user: converter } : {};
  const hypervisor = (await findImages(images)).find(({ name, vm, container }) => name === hypervisorImage && !vm && !container);
  if (hypervisor !== undefined) {
    const [program] = await present(hypervisor.layers.map((layer) => join(layer, "usr/bin/qemu-img")));
    const libraries = await librariesOf(hypervisor.layers);
    const loader = [...libraries.keys()].find((name) => loaderName.test(name));
    if (program !== undefined && loader !== undefined) {
      await mkdir(folder, { mode: 0o755 });
      for (const [name, path] of libraries) await symlink(path, join(folder, name));
      return { argv: [join(folder, loader), "--library-path", folder, program], ...user };
    }
  }
  const own = (process.env["PATH"] ?? "").split(delimiter).filter((path) => path.startsWith("/"));
  const [found] = await present(own.map((path) => join(path, "qemu-img")));
  if (found !== undefined) return { argv: [found], ...user };
  throw new ArchiveError(
    "not_found",
    "the program qemu-img is not on this machine",
    "labwright setup builds the hypervisor's image, which has it",
  );
}

/** Links in the trees are absolute: they lead out of the tree, and are followed here. The first layer wins. */
async function librariesOf(layers: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const layer of layers) {
    for (const folder of libraryFolders) {
      const entries = await readdir(join(layer, folder), { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
        throw error;
      });
      for (const entry of entries) {
        if (found.has(entry.name) || !/\.so(\.|$)/.test(entry.name)) continue;
        const file = await withinTree(layer, join("/", folder, entry.name));
        if (file !== undefined) found.set(entry.name, file);
      }
    }
  }
  return found;
}

/** Returns the path of a file in a tree, with its last links followed inside the tree; `undefined` if it is elsewhere. */
async function withinTree(tree: string, path: string): Promise<string | undefined> {
  let at = path;
  for (let hops = 0; hops < 8; hops++) {
    const place = join(tree, at);
    const found = await lstat(place).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
      throw error;
    });
    if (found?.isFile() === true) return place;
    if (found?.isSymbolicLink() !== true) return undefined;
    at = resolve(dirname(at), await readlink(place));
  }
  return undefined;
}

async function present(paths: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    paths.map((path) =>
      access(path).then(
        () => true,
        () => false,
      ),
    ),
  );
  return paths.filter((_, i) => found[i]);
}

export interface RunLimits {
  /** Maximum bytes of a file that it writes. */
  readonly bytes: number;
  readonly signal?: AbortSignal | undefined;
  /** Receives percents. */
  readonly progress?: (percent: number) => void;
}

/** Processor time, s; memory, bytes; open files. */
const limits = { cpu: 4 * 3600, memory: 4 * 1024 ** 3, files: 64, threads: 128 };
const maxWords = 4000;

/**
 * Runs qemu-img in a directory, with limits of memory, processor time, open files and written bytes, without any right of this process. Returns its exit code and
 * messages. Throws the signal's reason.
 */
export async function runQemuImg(
  { argv, user }: QemuImg,
  directory: string,
  words: readonly string[],
  { bytes, signal, progress }: RunLimits,
): Promise<{ readonly code: number; readonly text: string; readonly output: string }> {
  signal?.throwIfAborted();
  const bounds = [
    `--as=${limits.memory}`,
    `--cpu=${limits.cpu}`,
    `--nofile=${limits.files}`,
    `--fsize=${Math.max(bytes, 1 << 16)}`,
    ...(user === undefined ? [] : [`--nproc=${limits.threads}`]),
    "--core=0",
  ];
  // The kernel ends it with this process, which a signal may kill at any time.
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "prlimit", ...bounds, "--", ...argv, ...words], {
    cwd: directory,
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C", TMPDIR: directory },
    stdio: ["ignore", "pipe", "pipe"],
    ...(user !== undefined && { uid: user, gid: idRange.base }),
  });
  let text = "";
  let output = "";
  child.stderr.setEncoding("utf8").on("data", (more: string) => {
    text = (text + more).slice(0, maxWords);
  });
  child.stdout.setEncoding("utf8").on("data", (more: string) => {
    const percent = /\(\s*(\d+(?:\.\d+)?)\/100%\)[^(]*$/.exec(more)?.[1];
    if (percent !== undefined) progress?.(Number(percent));
    else output = (output + more).slice(0, 256 * 1024);
  });
  const kill = () => child.kill("SIGKILL");
  signal?.addEventListener("abort", kill, { once: true });
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (exit) => resolve(exit ?? 128));
    });
    signal?.throwIfAborted();
    return { code, text: text.trim(), output };
  } finally {
    signal?.removeEventListener("abort", kill);
  }
}

/** Converts a disk to qcow2. Throws ArchiveError; ENOSPC if the disk of the directory is full. */
export async function convert(
  qemuImg: QemuImg,
  directory: string,
  { what, from, format, to }: { readonly what: string; readonly from: string; readonly format: "vmdk" | "raw"; readonly to: string },
  limit: RunLimits,
): Promise<void> {
  const words = ["convert", "-p", "-T", "none", "-f", format, "-O", "qcow2", "-o", "compat=1.1", from, to];
  throwFailure(what, await runQemuImg(qemuImg, directory, words, limit), limit.bytes);
}

/** Checks the tables of a disk and that all of its data is there. Throws ArchiveError. */
export async function checkData(
  qemuImg: QemuImg,
  directory: string,
  { what, file, format }: { readonly what: string; readonly file: string; readonly format: "qcow2" | "vmdk" },
  limit: RunLimits,
): Promise<void> {
  throwDamage(what, await runQemuImg(qemuImg, directory, ["check", "-f", format, file], limit));
}

function throwDamage(what: string, { code, text, output }: Awaited<ReturnType<typeof runQemuImg>>): void {
  // 3: only clusters that nothing uses.
  if (code === 0 || code === 3) return;
  const words = `${text}\n${output}`.trim();
  const first = /^ERROR[^\n]*/m.exec(words)?.[0] ?? words.split("\n")[0]?.replace(/^qemu-img: /, "");
  throw wrongImage(`${what} is damaged or cut off: ${first || `qemu-img ended with code ${code}`}`);
}

/** Checks the tables of an overlay without the file below it. Throws ArchiveError. */
export async function checkOverlayData(
  qemuImg: QemuImg,
  directory: string,
  { what, file }: { readonly what: string; readonly file: string },
  limit: RunLimits,
): Promise<void> {
  const alone = JSON.stringify({ driver: "qcow2", backing: null, file: { driver: "file", filename: file } });
  throwDamage(what, await runQemuImg(qemuImg, directory, ["check", `json:${alone}`], limit));
}

function throwFailure(what: string, { code, text }: { readonly code: number; readonly text: string }, bytes: number): void {
  if (code === 0) return;
  if (/No space left on device|Disk quota exceeded/.test(text)) throw Object.assign(new Error(text), { code: "ENOSPC" });
  if (/File too large/.test(text) || code === 153)
    throw new ArchiveError(
      "too_large",
      `${what} has more than ${bytes} bytes of data`,
      "--max-bytes raises the limit, and the disk needs as much room",
    );
  const line = text.split("\n").find((each) => each.includes("qemu-img")) ?? text.split("\n")[0] ?? "";
  throw wrongImage(`${what} is not readable: ${line.replace(/^qemu-img: /, "").slice(0, 300) || `qemu-img ended with code ${code}`}`);
}
