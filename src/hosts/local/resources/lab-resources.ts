import { Failure } from "../../../contract/errors.ts";
import type { DefinedNode } from "../definitions/definition.ts";
import type { LimitEntry, NodeState, Sandbox } from "../sandbox/sandbox.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { type NodeLimits, nodeLimits } from "../templates/node-needs.ts";
import { type ControlGroups, groupsOfHolder } from "./control-groups.ts";
import { type IdleMemory, type LabGroups, makeLabGroups, type NodeUsage, readUsage, removeLabGroups } from "./lab-groups.ts";
import { type CapacityRules, ceilings, machineMemory } from "./machine-capacity.ts";
import { limitEntries } from "./node-limits.ts";

/** The current usage of a node. */
export interface NodeLoad {
  /** Percent of one core: 200 is two cores. */
  readonly cpuPercent?: number;
  readonly memoryBytes?: number;
}

/** Facts about the machine that are read once for all labs. */
export interface MachineMeans {
  readonly groups: ControlGroups;
  readonly rules: CapacityRules;
}

/** The resources of one lab: its control groups, from the start to the end of its sandbox, and the usage of its nodes. */
export class LabResources {
  readonly #lab: string;
  readonly #means: Promise<MachineMeans>;
  /** The machine's user id of the lab's root. `undefined` if it is this process's user. */
  readonly #owner: number | undefined;
  readonly #warn: (text: string) => void;
  #groups: LabGroups | undefined;
  #sample: Sample | undefined;
  readonly #idle: IdleMemory = new Map();
  #reading: Promise<ReadonlyMap<number, NodeLoad>> | undefined;

  constructor(lab: string, means: Promise<MachineMeans>, owner: number | undefined, warn: (text: string) => void) {
    this.#lab = lab;
    this.#means = means;
    this.#owner = owner;
    this.#warn = warn;
  }

  /**
   * Creates the groups for a sandbox with this number of nodes. Throws host_error if the machine now refuses it, although the probe at the start of
   * the service succeeded.
   */
  async prepare(nodes: number): Promise<{ readonly cgroups: readonly string[]; readonly processes: number }> {
    const { groups, rules } = await this.#means;
    const most = ceilings(nodes, machineMemory(groups), rules);
    this.#groups = await makeLabGroups(groups, this.#lab, this.#owner, most).catch((error: Error) => {
      const message = `the lab's control groups: ${error.message}`;
      throw new Failure("host_error", message, { data: { host: { message } }, cause: error });
    });
    return { cgroups: this.#groups.directories, processes: most.labProcesses };
  }

  async adopt(pid: number): Promise<void> {
    const { groups } = await this.#means;
    const directories = groupsOfHolder(groups, pid, this.#lab);
    this.#groups = directories === undefined ? undefined : { groups, directories };
  }

  /** Returns the limits of a node as entries for the sandbox. Empty for a lab that was started without groups. */
  limitsOf(node: DefinedNode, catalogue: Catalogue): readonly LimitEntry[] {
    return this.entries(nodeLimits(node, catalogue.template(node.template)));
  }

  /** Returns these limits as entries for the sandbox. Empty for a lab that was started without groups. */
  entries(limits: NodeLimits): readonly LimitEntry[] {
    return this.#groups === undefined ? [] : limitEntries(this.#groups.groups, limits);
  }

  /** Applies the limits to running nodes. */
  async limit(sandbox: Sandbox, nodes: readonly DefinedNode[], catalogue: Catalogue): Promise<void> {
    if (this.#groups === undefined || nodes.length === 0) return;
    await sandbox.limit(nodes.map((node) => ({ id: node.id, entries: this.limitsOf(node, catalogue) })));
  }

  /** Returns the usage of these nodes, except in the first second after their start. The groups are read at most once per second for all callers. */
  load(states: ReadonlyMap<number, NodeState>): Promise<ReadonlyMap<number, NodeLoad>> {
    this.#reading ??= this.#load(states).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #load(states: ReadonlyMap<number, NodeState>): Promise<ReadonlyMap<number, NodeLoad>> {
    const lab = this.#groups;
    if (lab === undefined) return new Map();
    const now = performance.now();
    const before = this.#sample;
    if (before !== undefined && now - before.at < freshMs) return before.load;
    // The usage of a starting node is not meaningful, and callers that start many nodes should not wait for it.
    const alive = [...states.values()].filter(({ pid, startedAt }) => pid > 0 && !isFresh(Date.now() - startedAt));
    const usage = await readUsage(
      lab,
      alive.map(({ id }) => id),
      this.#idle,
    );
    const load = new Map<number, NodeLoad>();
    for (const { id, startedAt } of alive) {
      const one = usage.get(id);
      if (one === undefined) continue;
      const cpu = cpuPercent(one, now, before?.startedAt.get(id) === startedAt ? before : undefined, id, startedAt);
      load.set(id, {
        ...(cpu === undefined ? {} : { cpuPercent: cpu }),
        ...(one.memory === undefined ? {} : { memoryBytes: one.memory }),
      });
    }
    this.#sample = { at: now, usage, load, startedAt: new Map(alive.map(({ id, startedAt }) => [id, startedAt])) };
    return load;
  }

  /** Removes the groups in the background. Called after every end of a sandbox, even if it ended while no service ran. */
  async remove(): Promise<void> {
    const { groups } = await this.#means;
    const directories = groups.hierarchies.map(({ base }) => `${base}/${this.#lab}`);
    const lab = this.#groups ?? { groups, directories };
    this.#groups = undefined;
    this.#sample = undefined;
    this.#idle.clear();
    removeLabGroups(lab, this.#warn);
  }
}

interface Sample {
  /** Time of the reading, by performance.now(). */
  readonly at: number;
  readonly usage: ReadonlyMap<number, NodeUsage>;
  readonly load: ReadonlyMap<number, NodeLoad>;
  readonly startedAt: ReadonlyMap<number, number>;
}

const freshMs = 1000;

/** Returns false if the clock was set back. */
function isFresh(age: number): boolean {
  return age >= 0 && age < freshMs;
}

/** Returns the usage since the previous sample, for a node that was not in it, since its start. */
function cpuPercent({ cpu }: NodeUsage, now: number, before: Sample | undefined, id: number, startedAt: number): number | undefined {
  if (cpu === undefined) return undefined;
  const then = before?.usage.get(id)?.cpu;
  const [used, elapsed] = then === undefined || before === undefined ? [cpu, Date.now() - startedAt] : [cpu - then, now - before.at];
  return Math.round(Math.max(0, used / 1000 / Math.max(1, elapsed)) * 1000) / 10;
}
