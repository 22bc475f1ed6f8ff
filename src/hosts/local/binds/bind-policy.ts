import type { Stats } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import { type MachineBind, machineBind } from "../../../intent/lab/machine-bind.ts";
import { idRange } from "../machine/idmap.ts";
import type { LocalPaths } from "../machine/paths.ts";

/** Maximum writable binds of a lab: each is a mount that is made before the lab (MAX_BINDS in native/holder/holder.c). */
export const maxWritable = 64;

/** Directories of the machine that never lead into nodes: the kernel's, and those with sockets and devices. */
const closed = ["/proc", "/sys", "/dev", "/run", "/var/run", "/boot"];

/** Decides which paths of the machine nodes may see. */
export interface BindPolicy {
  /** Whether any path may be bound. */
  readonly isOpen: boolean;
  /** Throws operation_not_allowed, or host_error for a path that does not exist. @param binds as bindText writes them */
  check(owner: string, node: string, binds: readonly string[]): Promise<void>;
}

/**
 * @param allow directories that the machine's administrator has opened with `labwright serve --bind-allow`
 * @param isAdmin returns whether this user is an admin of the service now
 */
export function bindPolicy(allow: readonly string[], paths: LocalPaths, isAdmin: (user: string) => Promise<boolean>): BindPolicy {
  const { state, run, images, vmImages, holder } = paths;
  const own = [state, run, images, vmImages, dirname(holder)];
  return {
    isOpen: allow.length > 0,
    async check(owner, node, binds) {
      if (binds.length === 0) return;
      const refuse = (text: string, why: string) =>
        new Failure("operation_not_allowed", `node ${node}: bind ${text}: ${why}`, { data: { nodes: [node] } });
      if (!(await isAdmin(owner))) {
        throw refuse(binds[0] ?? "", `only labs of admins have paths of the machine, and ${owner}, who owns the lab, is not an admin`);
      }
      const [open, shut] = await Promise.all([real(allow), real([...closed, ...own])]);
      for (const text of binds) {
        const bind = machineBind(text);
        const { source } = bind;
        const link = await linkOn(source);
        if (link !== undefined) throw refuse(text, `${link} is a symbolic link: write the path to which it leads`);
        if (!open.some((directory) => isBelow(source, directory))) {
          const which = allow.length === 0 ? "this service opens no path of the machine" : `this service opens only ${allow.join(", ")}`;
          throw refuse(text, `${which}: labwright serve --bind-allow DIRECTORY`);
        }
        const clash = shut.find((directory) => isBelow(source, directory) || isBelow(directory, source));
        if (clash !== undefined)
          throw refuse(text, "it contains, or is part of, a directory of the system or of Labwright that nodes must not see");
        await requireFile(node, text, bind);
      }
    },
  };
}

/** Returns the directories as given and with their links resolved; those that do not exist as given. */
async function real(directories: readonly string[]): Promise<readonly string[]> {
  const resolved = await Promise.all(directories.map((directory) => realpath(directory).catch(() => directory)));
  return [...new Set([...directories.map(withoutSlash), ...resolved])];
}

function withoutSlash(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, "") : path;
}

/** Returns whether the path is the directory or in it. */
function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

/** Returns the first symbolic link on the way. The holder refuses links that appear later. */
async function linkOn(path: string): Promise<string | undefined> {
  for (let end = path.indexOf("/", 1); ; end = path.indexOf("/", end + 1)) {
    const part = end < 0 ? path : path.slice(0, end);
    const found = await lstat(part).catch(() => undefined);
    if (found?.isSymbolicLink() === true) return part;
    if (end < 0 || found === undefined) return undefined;
  }
}

/** Throws host_error unless the path is a file or directory, and belongs to nodes if they may write: the kernel refuses writes to other files. */
async function requireFile(node: string, text: string, { source, writable }: MachineBind): Promise<void> {
  const found = await lstat(source).catch((error: NodeJS.ErrnoException) => error);
  const why =
    found instanceof Error
      ? `${source} cannot be read on the machine (${found.code}): create it, or correct the path`
      : problemOf(source, found, writable);
  if (why !== undefined) throw new Failure("host_error", `node ${node}: bind ${text}: ${why}`, { data: { host: { message: why } } });
}

function problemOf(source: string, found: Stats, writable: boolean): string | undefined {
  const { base, count } = idRange;
  const isOfNodes = [found.uid, found.gid].every((id) => id >= base && id < base + count);
  if (!found.isFile() && !found.isDirectory()) return `${source} is not a file or directory`;
  return writable && !isOfNodes ? `nodes write only in files of their own ids: chown -R ${base}:${base} ${source}` : undefined;
}
