import { join } from "node:path";
import { Failure } from "../../../contract/errors.ts";
import type { StopMode } from "../../../engine/model/plan.ts";
import type { DefinedLink, DefinedNode, LabDefinition } from "../definitions/definition.ts";
import { impassable } from "../images/lacks.ts";
import type { EarlyWiring } from "../links/early-wiring.ts";
import { idRange, ownRange } from "../machine/idmap.ts";
import { succeeded } from "../machine/machine.ts";
import type { LocalPaths } from "../machine/paths.ts";
import type { NatPolicy } from "../nat/nat-rules.ts";
import { backendOf, isSwitch, type NodeLife, nodeLife } from "../nodes/node-life.ts";
import { nodeAddresses, nodeSpawn } from "../nodes/node-spawn.ts";
import { naming, nodeTrouble } from "../nodes/node-trouble.ts";
import type { Sides } from "../quality/quality.ts";
import type { ShapingMeans } from "../quality/quality-means.ts";
import { LabResources, type MachineMeans, type NodeLoad } from "../resources/lab-resources.ts";
import type { NodeState, Sandbox, SpawnedNode } from "../sandbox/sandbox.ts";
import { Gathering } from "../sync/gathering.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { vmOf } from "../templates/vm-template.ts";
import { Screens } from "../vm/screens.ts";
import { dropSavedState, hibernateVm } from "../vm/suspend.ts";
import { openTun } from "../vm/tun.ts";
import { LabSandbox } from "./lab-sandbox.ts";
import { LabWiring, type LinkLife } from "./lab-wiring.ts";
import type { StopPatience } from "./stop-patience.ts";

/** As it was told last, and what it was told of. */
interface KnownLife {
  readonly definition: LabDefinition;
  readonly states: ReadonlyMap<number, NodeState>;
  readonly catalogue: Catalogue;
  readonly stands: boolean;
  readonly life: ReadonlyMap<number, NodeLife>;
}

/**
 * The living part of one lab: its nodes' power, in the sandbox that it has, with the wiring that its definition asks for. Callers see to it
 * that only one change of a lab runs at a time.
 */
export class LocalLab {
  readonly id: string;
  /** `<state>/labs/<id>`. */
  readonly directory: string;
  readonly #bootId: string;
  readonly #patience: StopPatience;
  readonly #resources: LabResources;
  readonly #screens: Screens;
  readonly #sandbox: LabSandbox;
  readonly #wiring: LabWiring;
  #life: KnownLife | undefined;

  constructor(
    id: string,
    directory: string,
    {
      paths,
      bootId,
      shaping,
      means,
      patience,
      natPolicy,
      onSharedRange,
    }: {
      readonly paths: LocalPaths;
      readonly bootId: string;
      readonly shaping: Promise<ShapingMeans>;
      readonly means: Promise<MachineMeans>;
      readonly patience: StopPatience;
      readonly natPolicy: NatPolicy;
      readonly onSharedRange: (why: string) => void;
    },
  ) {
    this.id = id;
    this.directory = directory;
    this.#bootId = bootId;
    this.#patience = patience;
    const root = process.getuid?.() === 0;
    this.#screens = new Screens(join(paths.run, id));
    this.#resources = new LabResources(id, means, root ? idRange.base : undefined);
    const ids = root ? { idMap: idRange, ownRange: ownRange(paths), onSharedRange } : {};
    const options = { holder: paths.holder, dir: join(paths.run, id), lab: id, ...ids };
    this.#sandbox = new LabSandbox(directory, options, this.#resources, {
      attach: (sandbox, adopted) => this.#wiring.open(sandbox, adopted),
      happened: () => this.#wiring.happened(),
      detach: () => {
        this.#wiring.close();
        this.#screens.close();
      },
    });
    this.#wiring = new LabWiring(this.#sandbox, shaping, paths.shaper, natPolicy);
  }

  /** Takes over the sandbox that an earlier run of the service left; removes what a dead one left. Does so once; again where it failed. */
  adopt(): Promise<void> {
    return this.#sandbox.adopt();
  }

  get sandbox(): Sandbox | null {
    return this.#sandbox.sandbox;
  }

  /** Throws host_error where another release's holder keeps the lab from being changed or used; all that runs of it may be stopped. */
  refuseForeign(stopping: readonly number[] = []): Promise<void> {
    return this.#sandbox.refuseForeign(stopping);
  }

  /** Whether something of the lab lives. */
  get stands(): boolean {
    return this.#sandbox.stands;
  }

  /** What a change is refused with while the lab's holder does not answer; undefined while it does. */
  hanging(): Failure | undefined {
    return this.#sandbox.hanging();
  }

  /** Throws host_timeout if the lab's holder does not answer: before a change, so that nothing is written down that cannot be done. */
  async refuseHanging(): Promise<void> {
    await this.#sandbox.states();
  }

  /** Counts what may have changed a node's links: what was ready then need not be ready now. */
  get wiring(): number {
    return this.#wiring.count;
  }

  /** How each node is, by its id; the same object again for as long as nothing of it changed. Throws host_timeout if the lab's holder hangs. */
  async life(definition: LabDefinition, catalogue: Catalogue): Promise<ReadonlyMap<number, NodeLife>> {
    return this.#lifeOf(definition, catalogue, await this.#sandbox.states());
  }

  /** The same; if the lab's holder hangs, as far as the process table shows it. */
  async seenLife(definition: LabDefinition, catalogue: Catalogue): Promise<ReadonlyMap<number, NodeLife>> {
    return this.#lifeOf(definition, catalogue, await this.#sandbox.seenStates());
  }

  #lifeOf(definition: LabDefinition, catalogue: Catalogue, states: ReadonlyMap<number, NodeState>): ReadonlyMap<number, NodeLife> {
    const { stands } = this.#sandbox;
    const known = this.#life;
    if (known?.definition === definition && known.states === states && known.catalogue === catalogue && known.stands === stands)
      return known.life;
    const life = new Map<number, NodeLife>();
    const lab = { directory: this.directory, bootId: this.#bootId, stands };
    for (const node of definition.nodes) life.set(node.id, nodeLife(lab, node, states.get(node.id), backendOf(node, catalogue)));
    // Whether a hibernated machine has its state its disk tells, at any time anew.
    const lasting = definition.nodes.every(({ power }) => power !== "suspended");
    this.#life = lasting ? { definition, states, catalogue, stands, life } : undefined;
    return life;
  }

  /**
   * Starts these nodes of the definition together: spawned and wired some at a time. One boots when all that it is connected to is there, most while
   * others are still being made. Those that run are left alone. Throws host_error; then none of them runs that did not run before.
   * @param record writes down which of them are to run, right before they boot: one that is booting was always wanted running
   */
  async start(
    definition: LabDefinition,
    ids: ReadonlySet<number>,
    catalogue: Catalogue,
    record: (ids: ReadonlySet<number>) => Promise<void>,
  ): Promise<void> {
    const nodes = definition.nodes.filter((node) => ids.has(node.id));
    const processes = nodes.filter((node) => !isSwitch(node, catalogue));
    const states = await this.#sandbox.states();
    const machines = new Set(nodes.filter((node) => backendOf(node, catalogue) === "vm").map(({ id }) => id));
    const fresh = processes.filter((node) => !((states.get(node.id)?.pid ?? 0) > 0));
    const spawns = fresh.map((node) =>
      naming(node, () => nodeSpawn(this.id, node, join(this.directory, "nodes", String(node.id)), catalogue)),
    );
    const addresses = new Map(processes.map((node) => [node.id, naming(node, () => nodeAddresses(node, catalogue))]));
    const suspended = processes.flatMap(({ id }) => (states.get(id)?.state === "suspended" ? [id] : []));
    if (machines.size > 0) await openTun();
    const empty = this.#sandbox.sandbox === null;
    const sandbox = await this.#sandbox.ensure(definition.nodes.length);
    // What can be limited is known of a sandbox that stands.
    const limits = fresh.map((node) => this.#resources.limitsOf(node, catalogue));
    const booting = new Set<number>();
    let recorded = false;
    const boot = async (some: readonly number[], all: ReadonlySet<number>) => {
      for (const id of some) booting.add(id);
      recorded = true;
      await record(all);
      if (some.length > 0) await sandbox.release(some);
    };
    const boots = new Gathering<number>((some) => boot(some, booting));
    let early: EarlyWiring | undefined;
    try {
      let spawned: readonly SpawnedNode[] = [];
      if (spawns.length > 0) {
        const plain = new Set(spawns.flatMap(({ id }) => (machines.has(id) ? [] : [id])));
        const onWired = (some: readonly number[]) => boots.add(some.filter((id) => (addresses.get(id) ?? "") === ""));
        early = await this.#wiring.ahead(sandbox, definition, plain, empty, catalogue, onWired);
        spawned = await sandbox.spawn(
          spawns.map((spawn, i) => ({ ...spawn, limits: limits[i] ?? [] })),
          (node) => early?.add(node),
        );
      }
      await silence(
        sandbox,
        spawned.filter(({ id }) => machines.has(id)).map(({ pid }) => pid),
      );
      await this.#wiring.sync(definition, catalogue, new Set(spawned.map(({ id }) => id)), early);
      await boots.done();
      const rest = spawned.filter(({ id }) => !booting.has(id));
      const byId = new Map(nodes.map((node) => [node.id, node]));
      for (const { id, pid } of rest) await setAddresses(sandbox, byId.get(id)!, pid, addresses.get(id) ?? "");
      if (suspended.length > 0) await sandbox.freeze(suspended, "thaw");
      await boot(
        rest.map(({ id }) => id),
        ids,
      );
    } catch (error) {
      // Where these failed too, that is what came here, or adds nothing to it.
      await early?.done().catch(() => undefined);
      await boots.done().catch(() => undefined);
      const half = spawns.map(({ id }) => id);
      // What went wrong is said; that the sandbox is lost too shows in the status.
      if (half.length > 0) await this.#sandbox.kill(half).catch(() => undefined);
      // Where that cannot be written their status tells it all the same: it is that of their processes.
      if (recorded) await record(new Set()).catch(() => undefined);
      throw await explained(error, [this.directory, ...spawns.flatMap(({ lower }) => lower)]);
    }
  }

  /**
   * Ends these nodes' processes, or with mode 2 makes them stand still; answers when it is so. Switches have none: a sync after the definition
   * says so takes them away. A state that a virtual machine was hibernated with goes when it is stopped in another way.
   * @returns those that were given time to end and were switched off after it, with that time in ms
   */
  async stop(nodes: readonly DefinedNode[], mode: StopMode, catalogue: Catalogue): Promise<ReadonlyMap<number, number>> {
    const forced = new Map<number, number>();
    const states = await this.#sandbox.states();
    if (this.#sandbox.isForeign) {
      await this.refuseForeign(nodes.map(({ id }) => id));
      await this.#sandbox.endForeign();
      return forced;
    }
    const { sandbox } = this.#sandbox;
    const isVm = (node: DefinedNode) => backendOf(node, catalogue) === "vm";
    const alive = nodes.filter(({ id }) => (states.get(id)?.pid ?? 0) > 0);
    if (sandbox !== null && mode === 2) {
      const frozen = alive.filter((node) => !isVm(node)).map(({ id }) => id);
      const still = alive.filter(isVm).map(({ id }) => hibernateVm(sandbox, this.directory, id));
      // One that fails leaves no other half way.
      const [failure] = (await Promise.allSettled([sandbox.freeze(frozen, "freeze"), ...still])).filter((one) => one.status === "rejected");
      if (failure !== undefined) throw failure.reason;
    } else if (sandbox !== null) {
      const end = async (those: readonly DefinedNode[], patience: number) => {
        const grace = mode === 0 ? this.#patience.graceful : mode === 3 ? patience : 0;
        const ids = those.map(({ id }) => id);
        if (ids.length === 0) return;
        await sandbox.stop(ids, mode === 1 ? "kill" : "graceful", grace);
        if (grace === 0) return;
        for (const { id, state, problem } of (await sandbox.info(ids)).nodes)
          if (state === "stopped" && problem !== undefined) forced.set(id, grace);
      };
      await Promise.all([
        end(
          alive.filter((node) => !isVm(node)),
          this.#patience.node,
        ),
        end(alive.filter(isVm), this.#patience.machine),
      ]);
    }
    if (mode !== 2) for (const { id } of nodes.filter(isVm)) dropSavedState(this.directory, id);
    return forced;
  }

  /** Makes the fabric what the definition asks for, and repairs what a crash left half done. */
  sync(definition: LabDefinition, catalogue: Catalogue): Promise<void> {
    return this.#wiring.sync(definition, catalogue);
  }

  /** Makes one link what the definition asks for. */
  syncLink(definition: LabDefinition, link: DefinedLink, catalogue: Catalogue): Promise<void> {
    return this.#wiring.syncLink(definition, link, catalogue);
  }

  /** Makes the fabric follow an edit of the definition. */
  syncEdit(before: LabDefinition, after: LabDefinition, catalogue: Catalogue): Promise<void> {
    return this.#wiring.syncEdit(before, after, catalogue);
  }

  /** Puts what the definition declares of these nodes' limits on those that run. */
  async limit(definition: LabDefinition, ids: ReadonlySet<number>, catalogue: Catalogue): Promise<void> {
    const states = await this.#sandbox.states();
    const { sandbox } = this.#sandbox;
    if (sandbox === null) return;
    const running = definition.nodes.filter(({ id }) => ids.has(id) && (states.get(id)?.pid ?? 0) > 0);
    await this.#resources.limit(sandbox, running, catalogue);
  }

  /** What nodes take of the machine; of all that run, where the machine counts it. */
  async load(): Promise<ReadonlyMap<number, NodeLoad>> {
    return this.#resources.load(await this.#sandbox.states());
  }

  /** Changes what a link is like now, not what is declared of it. Takes effect with the next sync. */
  changeQuality(link: DefinedLink, sides: Sides): void {
    this.#wiring.changeQuality(link, sides);
  }

  /** The links whose quality is changed, as what shapes them tells it. */
  linkLife(): Promise<ReadonlyMap<number, LinkLife>> {
    const hanging = this.hanging();
    if (hanging !== undefined) return Promise.reject(hanging);
    return this.#wiring.linkLife();
  }

  /** Ends everything that lives of the lab; its directory of files is left. */
  destroy(): Promise<void> {
    return this.#sandbox.destroy();
  }

  /** Lets go of a sandbox that goes on living. */
  release(): void {
    this.#sandbox.release();
  }

  /** Where a VNC client finds the screens of those virtual machines that run and have one: node → path of a socket. */
  async screens(definition: LabDefinition, catalogue: Catalogue): Promise<ReadonlyMap<number, string>> {
    const states = await this.#sandbox.states();
    const { sandbox } = this.#sandbox;
    const found = new Map<number, string>();
    for (const node of definition.nodes) {
      const template = catalogue.template(node.template);
      if (sandbox === null || template?.backend !== "vm" || states.get(node.id)?.state !== "running") continue;
      if (vmOf(template, node).video !== "none") found.set(node.id, await this.#screens.path(sandbox, node.id));
    }
    return found;
  }
}

/** Interfaces of a virtual machine's node are the guest's: the kernel that they are in must not speak on them. Before they are made. */
async function silence(sandbox: Sandbox, pids: readonly number[]): Promise<void> {
  if (pids.length === 0) return;
  const quiet = "test ! -d /proc/sys/net/ipv6 || for which in all default; do echo 1 > /proc/sys/net/ipv6/conf/$which/disable_ipv6; done";
  const argv = ["sh", "-c", `for pid in ${pids.join(" ")}; do nsenter -t $pid -n sh -c '${quiet}' || exit; done`];
  succeeded(argv, await sandbox.run(argv));
}

/** Runs `ip -batch` in the node's net namespace. Throws host_error with the node, the line that failed, and the kernel's words. */
async function setAddresses(sandbox: Sandbox, node: DefinedNode, pid: number, lines: string): Promise<void> {
  if (lines === "") return;
  const { code, stderr } = await sandbox.run(["nsenter", "-t", String(pid), "-n", "ip", "-batch", "-"], lines);
  if (code === 0) return;
  const [, number = ""] = /Command failed -:(\d+)/.exec(stderr) ?? [];
  const line = lines.split("\n")[Number(number) - 1];
  const words = stderr.replace(/\s*Command failed -:\d+\s*$/, "").trim() || `code ${code}`;
  const message = `node ${node.name}: addresses and gateway: ${line === undefined ? "" : `ip ${line}: `}${words}`;
  throw nodeTrouble(node, new Failure("host_error", message, { data: { host: { code, message: words } } }));
}

/** A refusal of the kernel that comes of a full disk or of a directory's mode is told with what to do. */
async function explained(error: unknown, directories: readonly string[]): Promise<unknown> {
  if (error instanceof Failure && /No space left on device/.test(error.message)) {
    const message = `the state directory's file system is full: free space on it and try again: ${error.message}`;
    return new Failure("host_error", message, { data: { ...error.data, host: { message: error.message } }, cause: error });
  }
  if (!(error instanceof Failure) || !/Permission denied/.test(error.message)) return error;
  const [closed] = await impassable(directories);
  return closed === undefined ? error : new Failure("host_error", closed, { data: { host: { message: error.message } }, cause: error });
}
