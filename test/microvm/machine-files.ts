import { lstat, readdir, readFile, readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { CpioEntry } from "../../src/hosts/local/setup/images/cpio.ts";
import { command } from "../../src/hosts/local/setup/programs/command.ts";

/** Parts of packages that no program reads. */
const unread = /^\/usr\/share\/(doc|man|locale|info|lintian|bug)(\/|$)/;

/** Directories that a Debian machine links into /usr. */
const merged: Readonly<Record<string, string>> = { bin: "usr/bin", sbin: "usr/sbin", lib: "usr/lib", lib64: "usr/lib64" };

/**
 * The files of the named Debian packages, and of the packages that they need, as this machine has them. A name that is not installed is left out.
 * Each entry's path is below `to`.
 */
export async function packageFiles(names: readonly string[], to: string): Promise<readonly CpioEntry[]> {
  const needed = await command([
    "apt-cache",
    "depends",
    "--recurse",
    "--installed",
    "--no-recommends",
    "--no-suggests",
    "--no-conflicts",
    "--no-breaks",
    "--no-replaces",
    "--no-enhances",
    ...names,
  ]);
  const installed = await command(["dpkg-query", "-W", "-f", `\${db:Status-Status} \${binary:Package}\n`]);
  const wanted = new Set(needed.split("\n").filter((line) => /^[a-z0-9]/.test(line)));
  const packages = installed.split("\n").flatMap((line) => {
    const [status, name = ""] = line.split(" ");
    return status === "installed" && (wanted.has(name) || wanted.has(name.split(":")[0]!)) ? [name] : [];
  });
  const listed = await command(["dpkg-query", "-L", ...packages]);
  const paths = new Set(listed.split("\n").filter((path) => path.startsWith("/") && !unread.test(path)));
  const entries = new Map(
    Object.entries(merged).map(([path, target]) => [
      path,
      { path: `${to}/${path}`, mode: 0o120777, data: Buffer.from(target) } as CpioEntry,
    ]),
  );
  for (const path of paths) {
    const real = join(await realpath(dirname(path)).catch(() => dirname(path)), basename(path)).slice(1);
    if (!entries.has(real)) for (const entry of await entryOf(`/${real}`, `${to}/${real}`)) entries.set(real, entry);
  }
  return withDirectories([...entries.values()]);
}

/** A file, a link, or a directory with everything below it. Entries keep their owners and modes, and are placed at `to`. */
export async function treeFiles(from: string, to: string): Promise<readonly CpioEntry[]> {
  const found = [...(await entryOf(from, to))];
  if (found.some(isDirectory))
    for (const name of (await readdir(from)).sort()) found.push(...(await treeFiles(join(from, name), `${to}/${name}`)));
  return found;
}

/**
 * The named programs of the root file system at `root`, the shared libraries that they load, and the links on the way to them. All other files of the root
 * file system would only make the boot longer: the emulated processor copies them into memory.
 */
export async function programFiles(root: string, programs: readonly string[], to: string): Promise<readonly CpioEntry[]> {
  const loader = "/lib64/ld-linux-x86-64.so.2";
  const chroot = [...(process.getuid?.() === 0 ? [] : ["unshare", "--user", "--map-root-user"]), "chroot", root];
  const listed = await Promise.all(programs.map((program) => command([...chroot, loader, "--list", program])));
  const libraries = listed.join("\n").matchAll(/(\/\S+) \(0x/g);
  const entries = new Map<string, CpioEntry>();
  for (const path of [loader, ...programs, ...Array.from(libraries, ([, library]) => library!)]) await addFollowed(root, path, to, entries);
  return withDirectories([...entries.values()]);
}

/** Adds the file at an absolute path of the root file system, and each link that the path leads over. */
async function addFollowed(root: string, path: string, to: string, entries: Map<string, CpioEntry>): Promise<void> {
  const names = path.split("/").filter((name) => name !== "");
  for (let depth = 1; depth <= names.length; depth++) {
    const at = names.slice(0, depth).join("/");
    const [entry] = await entryOf(join(root, at), `${to}/${at}`);
    if (entry === undefined) throw new Error(`${root} has no ${path}`);
    entries.set(at, entry);
    if (!isLink(entry)) continue;
    const target = resolve("/", dirname(at), entry.data.toString());
    return addFollowed(root, join(target, ...names.slice(depth)), to, entries);
  }
}

/** Adds the directories above each entry that are not listed themselves: the kernel makes none. Sorted, so that a directory is before its files. */
export function withDirectories(entries: readonly CpioEntry[]): readonly CpioEntry[] {
  const all = new Map(entries.map((entry) => [entry.path, entry]));
  for (const { path } of entries) {
    for (let above = dirname(path); above !== "." && !all.has(above); above = dirname(above)) {
      all.set(above, { path: above, mode: 0o040755, data: Buffer.alloc(0) });
    }
  }
  return [...all.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** One entry; none for what is gone and for sockets, pipes and devices. */
async function entryOf(from: string, to: string): Promise<readonly CpioEntry[]> {
  const stat = await lstat(from).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  });
  if (stat === undefined) return [];
  const { mode, uid, gid } = stat;
  const entry = (data: Buffer): readonly CpioEntry[] => [{ path: to, mode, uid, gid, data }];
  if (stat.isDirectory()) return entry(Buffer.alloc(0));
  if (stat.isSymbolicLink()) return entry(Buffer.from(await readlink(from)));
  return stat.isFile() ? entry(await readFile(from)) : [];
}

function isLink({ mode }: CpioEntry): boolean {
  return (mode & 0o170000) === 0o120000;
}

function isDirectory({ mode }: CpioEntry): boolean {
  return (mode & 0o170000) === 0o040000;
}
