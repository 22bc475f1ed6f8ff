import { Failure } from "../../../contract/errors.ts";
import type { DefinedNode } from "../definitions/definition.ts";
import type { LimitEntry, NodeState, Sandbox } from "../sandbox/sandbox.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { nodeLimits } from "../templates/node-needs.ts";
import { type ControlGroups, groupsOfHolder } from "./control-groups.ts";
import { type IdleMemory, type LabGroups, makeLabGroups, type NodeUsage, readUsage, removeLabGroups } from "./lab-groups.ts";
import { type CapacityRules, ceilings, machineMemory } from "./machine-capacity.ts";
import { limitEntries } from "./node-limits.ts";

/** The current usage of a node. */
export interface NodeLoad {
  /** Of one core: 200 are two. */
  readonly cpuPercent?: number;
  readonly memoryBytes?: number;
}

/** Facts about the machine that are read once for all labs. */
export interface MachineMeans {
  readonly groups: ControlGroups;
  readonly rules: CapacityRules;
}

/** One lab's share of the machine: its control groups, from its sandbox's start to its end, and what its nodes take. */
export class LabResources {
  readonly #lab: string;
  readonly #means: Promise<MachineMeans>;
  /** The lab's root outside; undefined: we are it. */
  readonly #owner: number | undefined;
  #groups: LabGroups | undefined;
  #sample: Sample | undefined;
  readonly #idle: IdleMemory = new Map();
  #reading: Promise<ReadonlyMap<number, NodeLoad>> | undefined;

  constructor(lab: string, means: Promise<MachineMeans>, owner: number | undefined) {
    this.#lab = lab;
    this.#means = means;
    this.#owner = owner;
  }

  /** The groups for a sandbox of this many nodes. Throws host_error if the machine refuses what it allowed at the start of the service. */
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

  /** The limits of a node, as the sandbox expects them. Empty in a lab that was started without groups. */
  limitsOf(node: DefinedNode, catalogue: Catalogue): readonly LimitEntry[] {
    const lab = this.#groups;
    return lab === undefined ? [] : limitEntries(lab.groups, nodeLimits(node, catalogue.template(node.template)));
  }

  /** Puts their limits on nodes that run. */
  async limit(sandbox: Sandbox, nodes: readonly DefinedNode[], catalogue: Catalogue): Promise<void> {
    if (this.#groups === undefined || nodes.length === 0) return;
    await sandbox.limit(nodes.map((node) => ({ id: node.id, entries: this.limitsOf(node, catalogue) })));
  }

  /** The usage of these nodes, from their second second on. The machine is read at most once a second for all callers. */
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
    // The usage of a starting node means nothing, and callers that start many nodes should not wait for it.
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

  /** Called after the end of a sandbox, also if nobody saw it end. Removes the groups in the background. */
  async remove(): Promise<void> {
    const { groups } = await this.#means;
    const directories = groups.hierarchies.map(({ base }) => `${base}/${this.#lab}`);
    const lab = this.#groups ?? { groups, directories };
    this.#groups = undefined;
    this.#sample = undefined;
    this.#idle.clear();
    removeLabGroups(lab);
  }
}

interface Sample {
  /** Of performance.now(). */
  readonly at: number;
  readonly usage: ReadonlyMap<number, NodeUsage>;
  readonly load: ReadonlyMap<number, NodeLoad>;
  readonly startedAt: ReadonlyMap<number, number>;
}

const freshMs = 1000;

/** False if the clock was set back. */
function isFresh(age: number): boolean {
  return age >= 0 && age < freshMs;
}

/** Since the sample before; of a node that was not in it, since its start. */
function cpuPercent({ cpu }: NodeUsage, now: number, before: Sample | undefined, id: number, startedAt: number): number | undefined {
  if (cpu === undefined) return undefined;
  const then = before?.usage.get(id)?.cpu;
  const [used, elapsed] = then === undefined || before === undefined ? [cpu, Date.now() - startedAt] : [cpu - then, now - before.at];
  return Math.round(Math.max(0, used / 1000 / Math.max(1, elapsed)) * 1000) / 10;
}
