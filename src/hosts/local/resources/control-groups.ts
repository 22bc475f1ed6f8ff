import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, rmdir, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** The control group files of one resource: their hierarchy and their version. */
export interface Controller {
  /** Index into ControlGroups.hierarchies. */
  readonly hierarchy: number;
  readonly version: 1 | 2;
}

/** The usable control groups of the machine, found by trying them. `hierarchies` is empty if there are none. */
export interface ControlGroups {
  /**
   * The parent directories of the labs' directories, one for each hierarchy, in the order of the holder's `cgroup` arguments. Created when the first
   * lab needs them.
   */
  readonly hierarchies: readonly { readonly mount: string; readonly base: string; readonly version: 1 | 2 }[];
  readonly cpu?: Controller;
  readonly memory?: Controller;
  readonly pids?: Controller;
  /** Counts CPU time. */
  readonly usage?: Controller;
  readonly freeze?: Controller;
  /** Limits the memory of TCP and UDP sockets, which version 1 counts separately. Version 2 counts it with the other memory. */
  readonly socketMemory?: Controller;
  /** Controller → why it is missing, for people. */
  readonly why: Readonly<Partial<Record<ControllerName, string>>>;
}

const controllerNames = ["cpu", "memory", "pids", "usage", "freeze"] as const;
export type ControllerName = (typeof controllerNames)[number];

export const noControlGroups = (why: string): ControlGroups => ({
  hierarchies: [],
  why: Object.fromEntries(controllerNames.map((name) => [name, why])),
});

/** Below the service's own group, so that limits of the service also apply to labs. */
const baseName = "labwright";

interface Mounted {
  readonly mount: string;
  readonly version: 1 | 2;
  /** The mount's controllers, for version 1. */
  readonly options: readonly string[];
}

/**
 * Finds the controllers that this process may use by creating and removing a group. On machines with both cgroup versions, each controller is used in
 * the hierarchy that has it. @param where LABWRIGHT_CGROUP: `none`, or the parent group of the labs' groups in each hierarchy
 */
export async function probeControlGroups(where: string | undefined = process.env["LABWRIGHT_CGROUP"]): Promise<ControlGroups> {
  if (where === "none") return noControlGroups("LABWRIGHT_CGROUP is none");
  const mounts = cgroupMounts(await readFile("/proc/self/mounts", "utf8"));
  const own = ownGroups(await readFile("/proc/self/cgroup", "utf8"));
  const hierarchies: { mount: string; base: string; version: 1 | 2 }[] = [];
  const found: Partial<Record<ControllerName, Controller>> = {};
  const why: Partial<Record<ControllerName, string>> = {};
  const unified = mounts.find(({ version }) => version === 2);
  if (unified !== undefined) {
    const taken = await takeUnified(unified.mount, where ?? own.get("") ?? "/", where !== undefined);
    if (typeof taken === "string") for (const name of controllerNames) why[name] = taken;
    else {
      const one: Controller = { hierarchy: hierarchies.push({ mount: unified.mount, base: taken.base, version: 2 }) - 1, version: 2 };
      found.usage = found.freeze = one;
      for (const name of ["cpu", "memory", "pids"] as const) {
        if (taken.controllers.has(name)) found[name] = one;
        else why[name] = `cgroup ${taken.base} has no controller ${name}`;
      }
    }
  }
  const old = { cpu: "cpu", memory: "memory", pids: "pids", usage: "cpuacct", freeze: "freezer" } as const;
  for (const name of controllerNames) {
    const mounted = mounts.find(({ version, options }) => version === 1 && options.includes(old[name]));
    if (found[name] !== undefined || mounted === undefined) {
      if (found[name] === undefined) why[name] ??= `this machine has no cgroup controller ${old[name]}`;
      continue;
    }
    const known = hierarchies.findIndex(({ mount }) => mount === mounted.mount);
    if (known >= 0) {
      found[name] = { hierarchy: known, version: 1 };
      continue;
    }
    const base = join(
      mounted.mount,
      where ?? (await visible(mounted.mount, own.get(old[name]) ?? "/")),
      where === undefined ? baseName : "",
    );
    const refused = await tryGroup(base);
    if (refused === undefined) found[name] = { hierarchy: hierarchies.push({ mount: mounted.mount, base, version: 1 }) - 1, version: 1 };
    else why[name] = refused;
  }
  for (const name of controllerNames) if (found[name] !== undefined) delete why[name];
  const { memory } = found;
  const hasSocketMemory = memory?.version === 1 && existsSync(join(hierarchies[memory.hierarchy]!.mount, socketMemoryFile));
  return { hierarchies, ...found, ...(hasSocketMemory ? { socketMemory: memory } : {}), why };
}

/** In a group of version 1. */
export const socketMemoryFile = "memory.kmem.tcp.limit_in_bytes";

/**
 * Returns the directories of a lab, by hierarchy. `undefined` if its holder is in none of our groups: it is older, or there were no groups at its
 * start.
 */
export function groupsOfHolder(groups: ControlGroups, pid: number, lab: string): readonly string[] | undefined {
  const own = ownGroups(readFileSync(`/proc/${pid}/cgroup`, "utf8"));
  const mounts = cgroupMounts(readFileSync("/proc/self/mounts", "utf8"));
  const directories = groups.hierarchies.map(({ mount, version }) => {
    const options = mounts.find((one) => one.mount === mount)?.options ?? [];
    const path = version === 2 ? own.get("") : [...own].find(([name]) => name !== "" && options.includes(name))?.[1];
    return path !== undefined && basename(path) === "lab" && basename(dirname(path)) === lab ? join(mount, dirname(path)) : undefined;
  });
  return directories.length > 0 && directories.every((one) => one !== undefined) ? (directories as string[]) : undefined;
}

function cgroupMounts(text: string): readonly Mounted[] {
  return text.split("\n").flatMap((line): Mounted[] => {
    const [, mount = "", type, options = ""] = line.split(" ");
    if (type !== "cgroup" && type !== "cgroup2") return [];
    return [{ mount: mount.replaceAll("\\040", " "), version: type === "cgroup" ? 1 : 2, options: options.split(",") }];
  });
}

/** Controller → path; "" is the unified hierarchy. */
function ownGroups(text: string): ReadonlyMap<string, string> {
  const lines = text.trim().split("\n");
  return new Map(
    lines.flatMap((line) => {
      const [, names = "", ...path] = line.split(":");
      return names.split(",").map((name) => [name, path.join(":")] as const);
    }),
  );
}

/** In a container the path may be the machine's, and not exist here. */
async function visible(mount: string, path: string): Promise<string> {
  const there = await stat(join(mount, path)).then(
    () => true,
    () => false,
  );
  return there && !path.startsWith("/..") ? path : "/";
}

/** Returns why no group can be created there, `undefined` if it can. */
async function tryGroup(base: string): Promise<string | undefined> {
  const probe = join(base, `probe-${process.pid}`);
  try {
    await mkdir(probe, { recursive: true });
    await rmdir(probe);
    // Others of ours may be in it.
    await rmdir(base).catch(() => undefined);
    return undefined;
  } catch (error) {
    return `no cgroup can be made in ${base}: ${(error as Error).message}`;
  }
}

/**
 * In the unified hierarchy a group with processes cannot have children with controllers. If the service runs in a subgroup `service` of its delegated
 * group (systemd's DelegateSubgroup=service), labs are created beside that subgroup. Otherwise root creates them below the root group.
 */
async function takeUnified(
  mount: string,
  own: string,
  given: boolean,
): Promise<string | { readonly base: string; readonly controllers: ReadonlySet<string> }> {
  const root = process.getuid?.() === 0;
  const beside = basename(own) === "service" || !root ? join(mount, dirname(own), baseName) : undefined;
  const candidates = given ? [join(mount, own)] : [...(beside === undefined ? [] : [beside]), ...(root ? [join(mount, baseName)] : [])];
  let refused = "";
  for (const base of candidates) {
    // Controllers come from the parent. Those that it cannot provide are missing and reported.
    await enableControllers(dirname(base));
    const problem = await tryGroup(base);
    if (problem !== undefined) {
      refused = problem;
      continue;
    }
    try {
      await mkdir(base, { recursive: true });
      const controllers = await enableControllers(base);
      // Groups of running labs may be in it.
      await rmdir(base).catch(() => undefined);
      return { base, controllers };
    } catch (error) {
      refused = `cgroup ${base}: ${(error as Error).message}`;
    }
  }
  return refused;
}

/** Enables the needed controllers for a group's children, if the group has them. Returns the children's controllers. */
export async function enableControllers(group: string): Promise<ReadonlySet<string>> {
  // A group of the old hierarchy has no such file, and so no controllers to enable.
  const words = async (file: string) => (await readFile(join(group, file), "utf8").catch(() => "")).trim().split(/\s+/);
  const available = await words("cgroup.controllers");
  for (const name of ["cpu", "memory", "pids"]) {
    // Enabled separately: if one is refused, the others are still useful. The result is read back.
    if (available.includes(name)) await writeFile(join(group, "cgroup.subtree_control"), `+${name}`).catch(() => undefined);
  }
  return new Set(await words("cgroup.subtree_control"));
}
