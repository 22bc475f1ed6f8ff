import { readFileSync, rmdirSync } from "node:fs";
import { chown, mkdir, readdir, readFile, rmdir, stat, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { KeyedQueue } from "../../../base/keyed-queue.ts";
import { type ControlGroups, type Controller, enableControllers } from "./control-groups.ts";

/** The directories of one lab in each hierarchy. Each contains a directory `lab` for the holder, and one for each running node, named by its id. */
export interface LabGroups {
  readonly groups: ControlGroups;
  /** One for each hierarchy, in the same order. */
  readonly directories: readonly string[];
}

/** The resource usage of a node. Nodes without a group have none. */
export interface NodeUsage {
  /** Microseconds of CPU time since the node started. */
  readonly cpu?: number;
  /** Used bytes, without inactive page cache. */
  readonly memory?: number;
}

/** Creates the lab's directories, in which the lab's root creates the nodes' groups. Throws Error with the kernel's message. */
export async function makeLabGroups(
  groups: ControlGroups,
  lab: string,
  owner: number | undefined,
  most: GroupCeilings,
): Promise<LabGroups> {
  const directories = groups.hierarchies.map(({ base }) => join(base, lab));
  // The groups of an earlier run of the lab.
  await removals.idle(keyOf(directories));
  for (const [i, { base, version }] of groups.hierarchies.entries()) {
    const directory = directories[i]!;
    await mkdir(directory, { recursive: true });
    if (version === 2) {
      await enableControllers(base);
      await enableControllers(directory);
    }
    await mkdir(join(directory, "lab"), { recursive: true });
    if (owner === undefined) continue;
    await chown(directory, owner, owner);
    // Also cgroup.procs of the directory: the unified hierarchy requires write access to the file of the common ancestor.
    for (const file of ["cgroup.procs", "lab", "lab/cgroup.procs"]) await chown(join(directory, file), owner, owner);
  }
  const { cpu, pids, memory } = groups;
  if (cpu !== undefined) {
    // Ten times a node's share, so that the holder answers and makes links while all nodes are busy.
    const [file, value] = cpu.version === 1 ? ["cpu.shares", 10 * 1024] : ["cpu.weight", 10 * 100];
    await writeFile(join(directories[cpu.hierarchy]!, "lab", file), String(value));
    // With version 2 a group competes with other groups only, and keeps the weight that the administrator gives it.
    if (cpu.version === 1) await writeFile(join(groups.hierarchies[cpu.hierarchy]!.base, file), String(allLabsShares()));
  }
  if (pids !== undefined) {
    await writeFile(join(groups.hierarchies[pids.hierarchy]!.base, "pids.max"), String(most.machineProcesses));
    await writeFile(join(directories[pids.hierarchy]!, "pids.max"), String(most.labProcesses));
  }
  if (memory !== undefined) {
    const file = memory.version === 1 ? "memory.limit_in_bytes" : "memory.max";
    await writeFile(join(groups.hierarchies[memory.hierarchy]!.base, file), String(most.machineMemory));
  }
  return { groups, directories };
}

/**
 * The CPU shares of all labs together. With version 1 their group competes with each process of the service's group. The labs weigh as much as one such
 * process on each processor: with the default, one process on the whole machine, they starve on a busy machine.
 */
function allLabsShares(): number {
  return 1024 * availableParallelism();
}

/** The limits for all labs together and for one lab. They leave enough for the machine and the service. */
export interface GroupCeilings {
  readonly machineProcesses: number;
  readonly labProcesses: number;
  /** Bytes. */
  readonly machineMemory: number;
}

/**
 * Removes the groups in the background after the end of the lab; `groupsSettled` waits for it. Processes need a moment to end. A group that still has
 * a process is kept until the next sweep.
 * @param warn gets the reason why groups could not be removed; the next sweep tries again
 */
export function removeLabGroups(lab: LabGroups, warn: Warn = emitWarning): void {
  const failed = (error: Error) => warn(`the control groups ${lab.directories.join(", ")} were not removed: ${error.message}`);
  void removals.run(keyOf(lab.directories), () => removeNow(lab).catch(failed));
}

type Warn = (text: string) => void;

const emitWarning: Warn = (text) => process.emitWarning(text);

async function removeNow({ groups, directories }: LabGroups): Promise<void> {
  await Promise.all(
    directories.map(async (directory, hierarchy) => {
      await removeInner(directory);
      if (groups.memory?.hierarchy === hierarchy) await giveBackMemory(directory, groups.memory);
      await removeGroup(directory);
      // The base directory is removed with the last lab.
      if (groups.hierarchies.some(({ base }) => base === dirname(directory))) await rmdir(dirname(directory)).catch(() => undefined);
    }),
  );
}

/** Running removals, by the lab's directories. */
const removals = new KeyedQueue();

function keyOf(directories: readonly string[]): string {
  return directories.join("\n");
}

/** Resolves when all pending removals of groups are done. */
export async function groupsSettled(): Promise<void> {
  await removals.idle();
}

async function removeInner(directory: string): Promise<void> {
  // If the group is gone already, nothing is left in it. removeGroup reports a group that cannot be removed.
  const inner = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const left: string[] = [];
  let began = performance.now();
  for (const one of inner) {
    if (performance.now() - began > 1) {
      await setImmediate();
      began = performance.now();
    }
    if (one.isDirectory() && !isRemoved(join(directory, one.name))) left.push(join(directory, one.name));
  }
  for (const one of left) await removeGroup(one);
}

/**
 * Removes the groups without processes of labs that ended while no service ran. A running lab has its holder in `lab`; the group of a lab that is
 * being created is younger than `patienceMs`.
 */
export async function sweepLabGroups(groups: ControlGroups, patienceMs = 60_000, warn: Warn = emitWarning): Promise<void> {
  const labs = new Map<string, string[]>();
  for (const { base } of groups.hierarchies) {
    // No lab has had a group in this hierarchy yet.
    for (const name of await readdir(base).catch(() => [])) {
      if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name)) labs.set(name, [...(labs.get(name) ?? []), join(base, name)]);
    }
  }
  const ended = async (directory: string): Promise<boolean> => {
    const { ctimeMs } = await stat(directory);
    return Date.now() - ctimeMs > patienceMs && (await readFile(join(directory, "lab", "cgroup.procs"), "utf8")) === "";
  };
  for (const directories of labs.values()) {
    // It is not an error if another service removes it now.
    const all = await Promise.all(directories.map((directory) => ended(directory).catch(() => true)));
    if (all.every(Boolean)) removeLabGroups({ groups, directories }, warn);
  }
}

/**
 * Makes the kernel reclaim the page cache of the groups below this one, including removed groups. A removed memory group stays in the kernel with
 * hundreds of KiB as long as a page that its processes cached first exists, and each such group slows down the creation of new groups.
 */
async function giveBackMemory(directory: string, { version }: Controller): Promise<void> {
  try {
    if (version === 1) await writeFile(join(directory, "memory.force_empty"), "0");
    else await writeFile(join(directory, "memory.reclaim"), await readFile(join(directory, "memory.current"), "utf8"));
  } catch {
    // Not everything could be reclaimed, or reclaiming is not possible (kernel before 5.19) or not allowed. The kernel then reclaims it when the
    // machine needs memory.
  }
}

/** Removes a group that has no processes. Synchronous, because promises for 500 nodes would cost as much as the removal. */
function isRemoved(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch {
    return false; // removeGroup reports why
  }
}

async function removeGroup(directory: string): Promise<void> {
  for (let patience = 300; patience > 0; patience--) {
    try {
      return await rmdir(directory);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      if ((error as NodeJS.ErrnoException).code !== "EBUSY") throw error;
      await delay(10);
    }
  }
}

/** Node → bytes of inactive page cache, and the usage at which they were read. */
export type IdleMemory = Map<number, { readonly used: string; readonly idle: number; readonly at: number }>;

/** ms. */
const maxSlice = 0.3;

/**
 * Reads the usage of all these nodes. It yields to other work in between.
 * @param idle inactive page cache from earlier reads, the most expensive value. Read again only at intervals if the usage is unchanged
 */
export async function readUsage(
  { groups, directories }: LabGroups,
  ids: readonly number[],
  idle: IdleMemory,
): Promise<ReadonlyMap<number, NodeUsage>> {
  const all = new Map<number, NodeUsage>();
  let began = performance.now();
  for (const id of ids) {
    if (performance.now() - began > maxSlice) {
      await setImmediate();
      began = performance.now();
    }
    const cpu = groups.usage === undefined ? undefined : cpuTime(groups.usage, file(directories, groups.usage, id));
    const memory = groups.memory === undefined ? undefined : memoryInUse(groups.memory, file(directories, groups.memory, id), id, idle);
    if (cpu === undefined && memory === undefined) continue;
    all.set(id, { ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) });
  }
  return all;
}

function file(directories: readonly string[], { hierarchy }: Controller, id: number): string {
  return `${directories[hierarchy]!}/${id}`;
}

function cpuTime({ version }: Controller, group: string): number | undefined {
  if (version === 2) return numberAfter("usage_usec ", textOf(`${group}/cpu.stat`));
  const nanoseconds = textOf(`${group}/cpuacct.usage`);
  return nanoseconds === undefined ? undefined : Math.round(Number(nanoseconds) / 1000);
}

function memoryInUse({ version }: Controller, group: string, id: number, idle: IdleMemory): number | undefined {
  const used = textOf(`${group}/${version === 1 ? "memory.usage_in_bytes" : "memory.current"}`);
  if (used === undefined) return undefined;
  const before = idle.get(id);
  const now = performance.now();
  if (before !== undefined && before.used === used && now - before.at < idleFreshMs) return Math.max(0, Number(used) - before.idle);
  const bytes = numberAfter(version === 1 ? "\ntotal_inactive_file " : "\ninactive_file ", textOf(`${group}/memory.stat`)) ?? 0;
  // Randomized, so that the values of all nodes do not expire at the same time.
  idle.set(id, { used, idle: bytes, at: now - Math.random() * (idleFreshMs / 2) });
  return Math.max(0, Number(used) - bytes);
}

const idleFreshMs = 10_000;

function numberAfter(word: string, text: string | undefined): number | undefined {
  const at = text?.indexOf(word) ?? -1;
  return at < 0 ? undefined : Number.parseInt(text!.slice(at + word.length), 10);
}

/** Returns `undefined` if the node has just ended. Synchronous, because promises for 500 nodes would cost ten times as much as the reads. */
function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENODEV") return undefined;
    throw error;
  }
}

/** Returns how often the kernel has killed processes of this node for lack of memory. */
export async function memoryKills({ groups, directories }: LabGroups, id: number): Promise<number> {
  if (groups.memory === undefined) return 0;
  const group = file(directories, groups.memory, id);
  const name = groups.memory.version === 1 ? "memory.oom_control" : "memory.events";
  // The group ends with its node.
  const text = await readFile(join(group, name), "utf8").catch(() => "");
  return numberAfter("oom_kill ", text) ?? 0;
}
