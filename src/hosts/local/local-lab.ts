import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../contract/errors.ts";
import type { StopMode } from "../../engine/plan.ts";
import type { Catalogue } from "./catalogue.ts";
import type { DefinedLink, DefinedNode, LabDefinition } from "./definition.ts";
import { type FabricChange, fabricChange, shapedEnds, standingCables, type WantedFabric, wantedFabric, wantedLink } from "./fabric.ts";
import { editedPart, type FabricPart, linksAt, wantedPart, withNeighbours } from "./fabric-part.ts";
import { type ForeignHolder, foreignHolder } from "./foreign-holder.ts";
import { idRange } from "./idmap.ts";
import { impassable } from "./lacks.ts";
import { succeeded } from "./machine.ts";
import { ensureUplinks, removeUplinks } from "./nat.ts";
import { backendOf, isSwitch, liveNodes, type NodeLife, nodeLife } from "./node-life.ts";
import { nodeAddresses, nodeSpawn } from "./node-spawn.ts";
import type { LocalPaths } from "./paths.ts";
import { effects, hasEffect, type Sides } from "./quality.ts";
import { LinkQualities } from "./quality-live.ts";
import type { ShapingMeans } from "./quality-means.ts";
import { LabNetem } from "./quality-netem.ts";
import { LabShaper, type LinkShaper } from "./quality-shaper.ts";
import { readFabric, readPorts } from "./read-fabric.ts";
import { LabResources, type MachineMeans, type NodeLoad } from "./resources/lab-resources.ts";
import type { NodeState, Sandbox, SandboxOptions } from "./sandbox.ts";
import { createSandbox, openSandbox } from "./sandbox-client.ts";
import type { StopPatience } from "./stop-patience.ts";
import { Screens } from "./vm/screens.ts";
import { dropSavedState, hibernateVm } from "./vm/suspend.ts";
import { openTun } from "./vm/tun.ts";
import { vmOf } from "./vm/vm-template.ts";

/** What of a link is in force. */
export interface LinkLife {
  readonly a?: Sides["a"];
  readonly b?: Sides["b"];
}

/**
 * The living part of one lab: its sandbox, where it has one, and how definition and sandbox are brought together. Callers see to it
 * that only one change of a lab runs at a time.
 */
export class LocalLab {
  readonly id: string;
  /** `<state>/labs/<id>`. */
  readonly directory: string;
  readonly #options: SandboxOptions;
  readonly #bootId: string;
  readonly #shaping: Promise<ShapingMeans>;
  readonly #patience: StopPatience;
  readonly #shaperProgram: string;
  readonly #qualities = new LinkQualities();
  readonly #resources: LabResources;
  readonly #screens: Screens;
  #sandbox: Sandbox | null = null;
  /** In place of a sandbox: one of another release, which can only be looked at and ended. */
  #foreign: ForeignHolder | null = null;
  #shaper: LinkShaper | null = null;
  #watch: { close(): void } | null = null;
  /** Counts what may have changed a node's links: what was ready then need not be ready now. */
  #wiring = 0;
  /** Counts what the lab's nodes did. */
  #happened = 0;
  /** Of #happened, when the fabric was last made whole; undefined after a failure: then what stands is not known. */
  #wholeAt: number | undefined;
  /** Where each port of the whole fabric redirects to. */
  readonly #redirects = new Map<string, string>();
  #adopted: Promise<void> | null = null;
  /** What a sandbox that died left is being removed. */
  #cleaning: Promise<unknown> = Promise.resolve();

  constructor(
    id: string,
    directory: string,
    {
      paths,
      bootId,
      shaping,
      means,
      patience,
    }: {
      readonly paths: LocalPaths;
      readonly bootId: string;
      readonly shaping: Promise<ShapingMeans>;
      readonly means: Promise<MachineMeans>;
      readonly patience: StopPatience;
    },
  ) {
    this.id = id;
    this.directory = directory;
    this.#bootId = bootId;
    this.#shaping = shaping;
    this.#patience = patience;
    this.#shaperProgram = paths.shaper;
    const root = process.getuid?.() === 0;
    this.#screens = new Screens(join(paths.run, id));
    this.#options = { holder: paths.holder, dir: join(paths.run, id), lab: id, ...(root ? { idMap: idRange } : {}) };
    this.#resources = new LabResources(id, means, root ? idRange.base : undefined);
  }

  /** Takes over the sandbox that an earlier run of the service left; removes what a dead one left. Does so once; again where it failed. */
  adopt(): Promise<void> {
    this.#adopted ??= this.#adopt()
      .then(() => this.#endUnreleased())
      .catch((error: unknown) => {
        this.#adopted = null;
        throw error;
      });
    return this.#adopted;
  }

  async #adopt(): Promise<void> {
    if (await exists(this.#options.dir)) {
      this.#foreign = await foreignHolder(this.#options);
      if (this.#foreign !== null) return;
      const found = await openSandbox(this.#options);
      if (found !== null) {
        await this.#take(found, true);
        return;
      }
      await rm(this.#options.dir, { recursive: true, force: true });
    }
    await removeUplinks(this.directory);
    await this.#resources.remove();
  }

  /** Nodes of a start that was cut off before their boot: it never comes, and nothing of them is wired or written down for certain. */
  async #endUnreleased(): Promise<void> {
    const nodes = (await this.#sandbox?.info())?.nodes ?? [];
    const waiting = nodes.filter(({ state }) => state === "waiting").map(({ id }) => id);
    if (waiting.length > 0) await this.#kill(waiting);
  }

  get sandbox(): Sandbox | null {
    return this.#sandbox;
  }

  /** Throws host_error where another release's holder keeps the lab from being changed or used; all that runs of it may be stopped. */
  async refuseForeign(stopping: readonly number[] = []): Promise<void> {
    if (this.#foreign === null) return;
    const states = await this.#states();
    if (this.#foreign === null) return;
    // Nothing runs in it any more, or it is about to end by itself: nothing is lost with it.
    if (states.size === 0) return this.#endForeign();
    if (stopping.length === 0 || [...states.keys()].some((id) => !stopping.includes(id))) throw this.#foreign.refusal();
  }

  get wiring(): number {
    return this.#wiring;
  }

  async life(definition: LabDefinition, catalogue: Catalogue): Promise<ReadonlyMap<number, NodeLife>> {
    const states = await this.#states();
    const life = new Map<number, NodeLife>();
    const lab = { directory: this.directory, bootId: this.#bootId, stands: (this.#sandbox ?? this.#foreign) !== null };
    for (const node of definition.nodes) life.set(node.id, nodeLife(lab, node, states.get(node.id), backendOf(node, catalogue)));
    return life;
  }

  /**
   * Starts these nodes of the definition together: one spawn, one batch of links, one release. Those that run are left alone.
   * Throws host_error; then none of them runs that did not run before.
   * @param record writes the definition down, right before the nodes boot: one that is booting was always wanted running
   */
  async start(definition: LabDefinition, ids: ReadonlySet<number>, catalogue: Catalogue, record: () => Promise<void>): Promise<void> {
    const nodes = definition.nodes.filter((node) => ids.has(node.id));
    const processes = nodes.filter((node) => !isSwitch(node, catalogue));
    const states = await this.#states();
    const machines = new Set(nodes.filter((node) => backendOf(node, catalogue) === "vm").map(({ id }) => id));
    const spawns = processes
      .filter((node) => !((states.get(node.id)?.pid ?? 0) > 0))
      .map((node) => nodeSpawn(this.id, node, join(this.directory, "nodes", String(node.id)), catalogue));
    const addresses = new Map(processes.map((node) => [node.id, nodeAddresses(node, catalogue)]));
    const suspended = processes.flatMap(({ id }) => (states.get(id)?.state === "suspended" ? [id] : []));
    if (machines.size > 0) await openTun();
    const sandbox = await this.#ensureSandbox(definition.nodes.length);
    let spawned: readonly { readonly id: number; readonly pid: number }[] = [];
    try {
      const unborn = new Set(spawns.map(({ id }) => id));
      await this.#resources.limit(
        sandbox,
        processes.filter(({ id }) => unborn.has(id)),
        catalogue,
      );
      if (spawns.length > 0) spawned = await sandbox.spawn(spawns);
      await silence(
        sandbox,
        spawned.filter(({ id }) => machines.has(id)).map(({ pid }) => pid),
      );
      await this.sync(definition, catalogue, new Set(spawned.map(({ id }) => id)));
      for (const { id, pid } of spawned) {
        const argv = ["nsenter", "-t", String(pid), "-n", "ip", "-batch", "-"];
        const lines = addresses.get(id) ?? "";
        if (lines !== "") succeeded(argv, await sandbox.run(argv, lines));
      }
      if (suspended.length > 0) await sandbox.freeze(suspended, "thaw");
      await record();
      if (spawned.length > 0) await sandbox.release(spawned.map(({ id }) => id));
    } catch (error) {
      const half = spawns.map(({ id }) => id);
      // What went wrong is said; that the sandbox is lost too shows in the status.
      if (half.length > 0) await this.#kill(half).catch(() => undefined);
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
    const states = await this.#states();
    if (this.#foreign !== null) {
      await this.refuseForeign(nodes.map(({ id }) => id));
      await this.#endForeign();
      return forced;
    }
    const sandbox = this.#sandbox;
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

  /**
   * Makes the fabric what the definition asks for. Reads the kernel first, so that it also repairs what a crash left half done.
   * @param reborn nodes that were just spawned
   */
  async sync(definition: LabDefinition, catalogue: Catalogue, reborn: ReadonlySet<number> = new Set()): Promise<void> {
    if (this.#foreign !== null) throw this.#foreign.refusal();
    const sandbox = this.#sandbox;
    if (sandbox === null) return;
    const happened = this.#happened;
    this.#wholeAt = undefined;
    for (let patience = 50; ; patience--) {
      try {
        await this.#wire(sandbox, definition, catalogue, reborn);
        break;
      } catch (error) {
        // The devices of a node that ends go when the kernel comes to it, which may be while we look at them: look again.
        if (patience === 0 || !(error instanceof Failure) || !goneDevice.test(error.message)) throw error;
        await delay(10);
      }
    }
    const nat = definition.networks.filter((network) => network.type === "nat").map((network) => network.id);
    if (nat.length > 0 && !catalogue.features.nat) {
      throw new Failure("unsupported", "this host cannot give a lab a nat network", { data: { feature: "nat" } });
    }
    await ensureUplinks(this.id, this.directory, sandbox, nat);
    this.#wholeAt = happened;
  }

  /**
   * Makes one link what the definition asks for. Where nothing happened in the lab since the fabric was made whole, only the link's own ports are
   * read and changed; else, and where they are not as they were left, all of it is synced.
   */
  async syncLink(definition: LabDefinition, link: DefinedLink, catalogue: Catalogue): Promise<void> {
    const sandbox = this.#sandbox;
    if (sandbox !== null && this.#wholeAt === this.#happened) {
      try {
        if (await this.#wireLink(sandbox, definition, link, catalogue)) return;
      } catch (error) {
        // The whole look tells, where it is not repaired by it.
        if (!(error instanceof Failure)) throw error;
      }
    }
    await this.sync(definition, catalogue);
  }

  /**
   * Makes the fabric follow an edit of the definition: where nothing happened in the lab since the fabric was made whole, and only few nodes' ports can be
   * concerned, these alone are read and changed; else all of it is synced.
   */
  async syncEdit(before: LabDefinition, after: LabDefinition, catalogue: Catalogue): Promise<void> {
    const sandbox = this.#sandbox;
    const part = sandbox !== null && this.#wholeAt === this.#happened ? editedPart(before, after) : undefined;
    if (sandbox !== null && part !== undefined && !part.links.some((id) => this.#shaper?.cables.has(id))) {
      try {
        return await this.#wirePart(sandbox, before, after, part, catalogue);
      } catch (error) {
        // The whole look tells, where it is not repaired by it.
        if (!(error instanceof Failure)) throw error;
      }
    }
    await this.sync(after, catalogue);
  }

  async #wirePart(
    sandbox: Sandbox,
    before: LabDefinition,
    after: LabDefinition,
    { nodes }: FabricPart,
    catalogue: Catalogue,
  ): Promise<void> {
    const links = linksAt(after, nodes);
    const near = new Set([...withNeighbours(links, nodes), ...withNeighbours(linksAt(before, nodes), nodes)]);
    const states = new Map((await sandbox.info([...near])).nodes.map((state) => [state.id, state]));
    const those = after.nodes.filter(({ id }) => near.has(id));
    const live = liveNodes(those, states, catalogue);
    const shapes = catalogue.features.linkQuality ? links.filter((link) => this.#qualities.shapes(link)) : [];
    const shaped = new Set(shapes.map(({ id }) => id));
    const wanted = wantedPart(after, nodes, live, catalogue.template, shaped);
    const stood = wantedPart(before, nodes, live, catalogue.template, shaped).ports;
    const actual = await readPorts(sandbox, [...new Set([...stood.keys(), ...wanted.ports.keys()])], this.#redirects);
    await this.#carryOut(sandbox, wanted, fabricChange(actual, wanted, new Set()), shapes, standingCables(actual), true);
    for (const name of stood.keys()) if (!wanted.ports.has(name)) this.#redirects.delete(name);
  }

  /** Whether its ports were there; else nothing is changed. */
  async #wireLink(sandbox: Sandbox, definition: LabDefinition, link: DefinedLink, catalogue: Catalogue): Promise<boolean> {
    const ends = link.endpoints.flatMap((end) => ("node" in end ? [end.node] : []));
    const states = new Map((await sandbox.info(ends)).nodes.map((state) => [state.id, state]));
    const nodes = definition.nodes.filter(({ id }) => ends.includes(id));
    const live = liveNodes(nodes, states, catalogue);
    this.#qualities.followLink(link, this.#shaper?.cables.get(link.id));
    const shapes = catalogue.features.linkQuality && this.#qualities.shapes(link) ? [link] : [];
    const wanted = wantedLink(definition, link, live, catalogue.template, new Set(shapes.map(({ id }) => id)));
    const actual = await readPorts(sandbox, [...new Set([...wanted.ports.keys(), ...shapedEnds(link.id)])], this.#redirects);
    const missing = [...wanted.ports.keys()].some((name) => !name.startsWith("q") && !actual.ports.has(name));
    if (missing) return false;
    await this.#carryOut(sandbox, wanted, fabricChange(actual, wanted, new Set()), shapes, standingCables(actual), true);
    this.#qualities.settleLink(link.id, wanted.shaped.has(link.id));
    return true;
  }

  async #wire(sandbox: Sandbox, definition: LabDefinition, catalogue: Catalogue, reborn: ReadonlySet<number>): Promise<void> {
    const states = await this.#states();
    const live = liveNodes(definition.nodes, states, catalogue);
    const known = new Set(definition.nodes.map((node) => node.id));
    const strangers = [...states.values()].filter((state) => state.pid > 0 && !known.has(state.id)).map((state) => state.id);
    if (strangers.length > 0) await this.#kill(strangers);

    this.#qualities.follow(definition.links, this.#shaper?.cables ?? new Map());
    const shapes = catalogue.features.linkQuality ? definition.links.filter((link) => this.#qualities.shapes(link)) : [];
    const actual = await readFabric(sandbox);
    this.#redirects.clear();
    const wanted = wantedFabric(definition, live, catalogue.template, new Set(shapes.map(({ id }) => id)));
    await this.#carryOut(sandbox, wanted, fabricChange(actual, wanted, reborn), shapes, standingCables(actual), false);
    this.#qualities.settle(new Set(wanted.shaped.keys()));
  }

  /**
   * @param shapes the links among those wanted that have a quality
   * @param cables the links whose ends at the shaper stand
   * @param few only a few ports change: then what tc looks up first, the whole fabric, is what would take long
   */
  async #carryOut(
    sandbox: Sandbox,
    wanted: WantedFabric,
    change: FabricChange,
    shapes: readonly DefinedLink[],
    cables: readonly number[],
    few: boolean,
  ): Promise<void> {
    const shaper = this.#shaper;
    if (change.remove !== "") await removeDevices(sandbox, change.remove);
    await batch(sandbox, ["ip", "-batch", "-"], change.ip);
    const shaped = shapes.filter(({ id }) => wanted.shaped.has(id));
    await shaper?.put(new Map(shaped.map((link) => [link.id, { mtu: wanted.shaped.get(link.id)!, ...this.#qualities.of(link) }])));
    // Of a machine with netem the program may be missing, or older: tc does the same.
    const done = few && (change.redirects === "" || (await sandbox.run([this.#shaperProgram, "redirect"], change.redirects)).code === 0);
    if (!done) await batch(sandbox, ["tc", "-batch", "-"], change.tc);
    await batch(sandbox, ["ip", "-batch", "-"], change.late);
    await shaper?.drop(cables.filter((id) => !wanted.shaped.has(id)));
    for (const [name, { redirect }] of wanted.ports) {
      if (redirect === undefined) this.#redirects.delete(name);
      else this.#redirects.set(name, redirect);
    }
    for (const { pid, name, mtu } of change.mtu) {
      const argv = ["nsenter", "-t", String(pid), "-n", "ip", "link", "set", "dev", name, "mtu", String(mtu)];
      succeeded(argv, await sandbox.run(argv));
    }
    if (change.remove !== "" || change.ip !== "" || change.tc !== "") this.#wiring++;
  }

  /** Puts what the definition declares of these nodes' limits on those that run. */
  async limit(definition: LabDefinition, ids: ReadonlySet<number>, catalogue: Catalogue): Promise<void> {
    const states = await this.#states();
    if (this.#sandbox === null) return;
    const running = definition.nodes.filter(({ id }) => ids.has(id) && (states.get(id)?.pid ?? 0) > 0);
    await this.#resources.limit(this.#sandbox, running, catalogue);
  }

  /** What nodes take of the machine; of all that run, where the machine counts it. */
  async load(): Promise<ReadonlyMap<number, NodeLoad>> {
    return this.#resources.load(await this.#states());
  }

  /** Changes what a link is like now, not what is declared of it. Takes effect with the next sync. */
  changeQuality(link: DefinedLink, sides: Sides): void {
    this.#qualities.change(link, sides);
  }

  /** The links whose quality is changed, as the shaper tells it; where it has died, and until it is back, they pass nothing. */
  async linkLife(): Promise<ReadonlyMap<number, LinkLife>> {
    await this.adopt();
    await this.#cleaning;
    const shaper = this.#shaper;
    const sandbox = this.#sandbox;
    if (sandbox === null || shaper === null || shaper.cables.size === 0) return new Map();
    const told = await shaper.read().catch(async (error: unknown) => {
      if (!(await sandbox.alive())) return new Map<number, never>();
      throw error;
    });
    const life = new Map<number, LinkLife>();
    for (const id of shaper.cables.keys()) {
      const state = told === null ? severed : told.get(id);
      if (state !== undefined && (hasEffect(state.a) || hasEffect(state.b))) life.set(id, effects(state));
    }
    return life;
  }

  /** Ends everything that lives of the lab; its directory of files is left. */
  async destroy(): Promise<void> {
    await this.adopt();
    await this.#cleaning;
    await this.#foreign?.end();
    this.#foreign = null;
    await this.#sandbox?.destroy();
    this.release();
    this.#sandbox = null;
    // Its end may have been seen meanwhile, and the cleaning up after it would take the files of a lab that is made anew.
    await this.#cleaning;
    await removeUplinks(this.directory);
    await this.#resources.remove();
    await rm(this.#options.dir, { recursive: true, force: true });
  }

  /** Lets go of a sandbox that goes on living. */
  release(): void {
    this.#watch?.close();
    this.#watch = null;
    this.#shaper?.close();
    this.#shaper = null;
    this.#screens.close();
  }

  /** Where a VNC client finds the screens of those virtual machines that run and have one: node → path of a socket. */
  async screens(definition: LabDefinition, catalogue: Catalogue): Promise<ReadonlyMap<number, string>> {
    const states = await this.#states();
    const found = new Map<number, string>();
    for (const node of definition.nodes) {
      const template = catalogue.template(node.template);
      if (this.#sandbox === null || template?.backend !== "vm" || states.get(node.id)?.state !== "running") continue;
      if (vmOf(template, node).video !== "none") found.set(node.id, await this.#screens.path(this.#sandbox, node.id));
    }
    return found;
  }

  async #ensureSandbox(nodes: number): Promise<Sandbox> {
    if (this.#foreign !== null) throw this.#foreign.refusal();
    // One that dies meanwhile is cleaned up after first, or the cleaning would take the new one's files.
    await this.#cleaning;
    if (this.#sandbox !== null) return this.#sandbox;
    // What a sandbox that died left behind.
    await removeUplinks(this.directory);
    await mkdir(this.#options.dir, { recursive: true, mode: 0o700 });
    const share = await this.#resources.prepare(nodes);
    const sandbox = await createSandbox({ ...this.#options, ...share }).catch(async (error: unknown) => {
      // The launcher may have been killed after its work was done: then the lab lives.
      const found = await openSandbox(this.#options);
      if (found === null) throw error;
      return found;
    });
    await this.#take(sandbox, false);
    try {
      // Fabric ports carry frames and never speak themselves: no neighbour discovery of theirs may reach a node. Forwarding would be
      // inherited from the machine.
      const quiet =
        "for which in all default; do echo 1 > /proc/sys/net/ipv6/conf/$which/disable_ipv6; done; echo 0 > /proc/sys/net/ipv4/ip_forward";
      succeeded(["sh", "-c", quiet], await sandbox.run(["sh", "-c", quiet]));
    } catch (error) {
      await this.destroy();
      throw error;
    }
    return sandbox;
  }

  async #take(sandbox: Sandbox, adopted: boolean): Promise<void> {
    this.#watch?.close(); // of an adoption that failed half way
    this.#sandbox = sandbox;
    this.#wholeAt = undefined;
    if (adopted) await this.#resources.adopt(sandbox.pid);
    this.#shaper = await this.#openShaper(sandbox, adopted);
    this.#watch = await sandbox.watch((change) => {
      if (change === "gone") void this.#lost(sandbox);
      else this.#happened++;
    });
  }

  async #openShaper(sandbox: Sandbox, adopted: boolean): Promise<LinkShaper | null> {
    const means = await this.#shaping;
    if (means === null) return null;
    const process = new LabShaper(this.#shaperProgram, this.id, sandbox);
    // A lab that a shaper process serves keeps it, whatever the kernel has learnt since.
    if (adopted && (await exists(this.#shaperProgram))) await process.adopt();
    if (means === "shaper" || process.cables.size > 0) return process;
    const netem = new LabNetem(sandbox);
    if (adopted) await netem.adopt();
    return netem;
  }

  async #states(): Promise<ReadonlyMap<number, NodeState>> {
    await this.adopt();
    await this.#cleaning;
    if (this.#foreign !== null) {
      const nodes = await this.#foreign.nodes();
      if (nodes !== null) return nodes;
      await this.#endForeign();
    }
    for (let patience = 40; ; patience--) {
      const sandbox = this.#sandbox;
      if (sandbox === null) return new Map();
      try {
        return new Map((await sandbox.info()).nodes.map((state) => [state.id, state]));
      } catch (error) {
        // Killed since we looked, and the watcher does not know yet. A process takes a moment to end, in which it neither answers nor is gone.
        if (!(await sandbox.alive())) await this.#lost(sandbox);
        else if (patience === 0 || (error instanceof Failure && error.code === "host_timeout")) throw error;
        else await delay(50);
      }
    }
  }

  async #endForeign(): Promise<void> {
    await this.#foreign?.end();
    this.#foreign = null;
    this.#cleaning = this.#clean();
    await this.#cleaning;
  }

  async #clean(): Promise<unknown> {
    const files = rm(this.#options.dir, { recursive: true, force: true });
    return Promise.all([removeUplinks(this.directory), this.#resources.remove(), files]).catch(() => undefined);
  }

  /** The sandbox died; what of the lab was outside it is removed, tried again at the next start or adoption where that fails. */
  #lost(sandbox: Sandbox): Promise<unknown> {
    if (this.#sandbox === sandbox) {
      this.#sandbox = null;
      this.release();
      this.#cleaning = this.#clean();
    }
    return this.#cleaning;
  }

  async #kill(ids: readonly number[]): Promise<void> {
    await this.#sandbox?.stop(ids, "kill", 0);
  }
}

/** Interfaces of a virtual machine's node are the guest's: the kernel that they are in must not speak on them. Before they are made. */
async function silence(sandbox: Sandbox, pids: readonly number[]): Promise<void> {
  if (pids.length === 0) return;
  const quiet = "test ! -d /proc/sys/net/ipv6 || for which in all default; do echo 1 > /proc/sys/net/ipv6/conf/$which/disable_ipv6; done";
  const argv = ["sh", "-c", `for pid in ${pids.join(" ")}; do nsenter -t $pid -n sh -c '${quiet}' || exit; done`];
  succeeded(argv, await sandbox.run(argv));
}

const severed: Sides = { a: { delay: 0, jitter: 0, loss: 100, bandwidth: 0 }, b: { delay: 0, jitter: 0, loss: 100, bandwidth: 0 } };

const goneDevice = /Cannot find device|No such device|Failed to find .*device/;

async function batch(sandbox: Sandbox, argv: readonly string[], text: string): Promise<void> {
  if (text !== "") succeeded(argv, await sandbox.run(argv, text));
}

/** Devices of a node that died go by themselves, at any moment: one that is gone already is no failure. */
async function removeDevices(sandbox: Sandbox, text: string): Promise<void> {
  const argv = ["ip", "-force", "-batch", "-"];
  const result = await sandbox.run(argv, text);
  const serious = result.stderr.split("\n").filter((line) => !goneDevice.test(line) && !/^(Command failed|$)/.test(line));
  if (serious.length > 0) succeeded(argv, { ...result, stderr: serious.join("; ") });
}

/** A refusal of the kernel that comes of a directory's mode is told with the directory. */
async function explained(error: unknown, directories: readonly string[]): Promise<unknown> {
  if (!(error instanceof Failure) || !/Permission denied/.test(error.message)) return error;
  const [closed] = await impassable(directories);
  return closed === undefined ? error : new Failure("host_error", closed, { data: { host: { message: error.message } }, cause: error });
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
