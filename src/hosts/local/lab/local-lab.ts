import { join } from "node:path";
import type { Failure } from "../../../contract/errors.ts";
import type { StopMode } from "../../../engine/model/plan.ts";
import type { BindPolicy } from "../binds/bind-policy.ts";
import type { DefinedLink, DefinedNode, LabDefinition } from "../definitions/definition.ts";
import type { Trash } from "../files/trash.ts";
import { idRange, ownRange } from "../machine/idmap.ts";
import type { LocalPaths } from "../machine/paths.ts";
import type { LabNames } from "../management/lab-names.ts";
import { NodeHosts } from "../management/node-hosts.ts";
import type { NatPolicy } from "../nat/nat-rules.ts";
import { backendOf, isSwitch, type NodeLife, nodeLife, switchLife } from "../nodes/node-life.ts";
import type { KernelSnapshots } from "../own-kernel/kernel-snapshots.ts";
import type { LinkQuality } from "../quality/quality.ts";
import type { ShapingMeans } from "../quality/quality-means.ts";
import type { InterfaceAddresses } from "../reach/interface-addresses.ts";
import type { PublishedPorts } from "../reach/published-ports.ts";
import { LabResources, type MachineMeans, type NodeLoad } from "../resources/lab-resources.ts";
import { type NodeState, type Sandbox, switchingNode } from "../sandbox/sandbox.ts";
import { Switches } from "../switching/switches.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { vmOf } from "../templates/vm-template.ts";
import type { TunnelPolicy, TunnelUnderlay } from "../tunnels/tunnel-policy.ts";
import { removeTunnels } from "../tunnels/tunnels.ts";
import { GuestAgents } from "../vm/guest-agents.ts";
import { Screens } from "../vm/screens.ts";
import { LabSandbox } from "./lab-sandbox.ts";
import { type FabricScope, LabWiring, type LiveQuality } from "./lab-wiring.ts";
import { type PublishOptions, publishPorts, runningAddresses } from "./reach-nodes.ts";
import { startNodes } from "./start-nodes.ts";
import type { StopGrace } from "./stop-grace.ts";
import { stopNodes } from "./stop-nodes.ts";

/** The last computed node states and the inputs they were computed from. */
interface KnownLife {
  readonly definition: LabDefinition;
  readonly states: ReadonlyMap<number, NodeState>;
  readonly catalogue: Catalogue;
  readonly isAlive: boolean;
  readonly life: ReadonlyMap<number, NodeLife>;
}

/**
 * The live part of one lab: starts and stops nodes in the lab's sandbox, and keeps their wiring as the definition asks for. Callers run only one change of a
 * lab at a time.
 */
export class LocalLab {
  readonly id: string;
  /** `<state>/labs/<id>`. */
  readonly directory: string;
  readonly #bootId: string;
  /** Path of the holder. */
  readonly #program: string;
  readonly #stopGrace: StopGrace;
  readonly #resources: LabResources;
  readonly #screens: Screens;
  /** The guest agents of virtual machines. */
  readonly guestAgents = new GuestAgents();
  readonly #sandbox: LabSandbox;
  readonly #wiring: LabWiring;
  readonly #ports: PublishedPorts;
  readonly #binds: BindPolicy;
  readonly #names: LabNames | undefined;
  readonly #nodeHosts: NodeHosts;
  readonly #snapshots: KernelSnapshots;
  readonly #warn: (text: string) => void;
  #life: KnownLife | undefined;

  constructor(
    id: string,
    directory: string,
    {
      paths,
      bootId,
      shaping,
      means,
      stopGrace,
      natPolicy,
      tunnelPolicy,
      underlay,
      ports,
      binds,
      names,
      onSharedRange,
      onSwitchesLost,
      snapshots,
      trash,
      warn,
    }: {
      readonly paths: LocalPaths;
      readonly bootId: string;
      readonly shaping: Promise<ShapingMeans>;
      readonly means: Promise<MachineMeans>;
      readonly stopGrace: StopGrace;
      readonly natPolicy: NatPolicy;
      readonly tunnelPolicy: TunnelPolicy | undefined;
      /** The network between the machines of a fleet. Absent: the lab has no links to other machines of it. */
      readonly underlay: TunnelUnderlay | undefined;
      /** The published ports of all labs. */
      readonly ports: PublishedPorts;
      readonly binds: BindPolicy;
      /** Absent: nodes get no names on the machine. */
      readonly names?: LabNames | undefined;
      readonly onSharedRange: (why: string) => void;
      /** Called when Open vSwitch of this lab has ended unasked. */
      readonly onSwitchesLost: (lab: string) => void;
      /** The snapshots that all labs share. */
      readonly snapshots: KernelSnapshots;
      readonly trash: Trash;
      readonly warn: (text: string) => void;
    },
  ) {
    this.id = id;
    this.directory = directory;
    this.#bootId = bootId;
    this.#program = paths.holder;
    this.#ports = ports;
    this.#binds = binds;
    this.#names = names;
    this.#nodeHosts = new NodeHosts(warn);
    this.#snapshots = snapshots;
    this.#warn = (text) => warn(`lab ${id}: ${text}`);
    this.#stopGrace = stopGrace;
    const root = process.getuid?.() === 0;
    this.#screens = new Screens(join(paths.run, id));
    this.#resources = new LabResources(id, means, root ? idRange.base : undefined, this.#warn);
    const ids = root ? { idMap: idRange, ownRange: ownRange(paths), onSharedRange } : {};
    const options = { holder: paths.holder, dir: join(paths.run, id), lab: id, ...ids };
    this.#sandbox = new LabSandbox(directory, options, this.#resources, {
      attach: (sandbox, adopted) => this.#wiring.open(sandbox, adopted),
      nodeEvent: (state) => {
        this.#wiring.nodeEvent();
        if (state?.id === switchingNode && state.state === "failed") onSwitchesLost(id);
      },
      detach: () => {
        this.#wiring.close();
        this.#screens.close();
        this.guestAgents.clear();
        ports.close(id);
      },
      removeNames: async () => names?.remove(id),
      removeTunnels: (sandbox) => removeTunnels(id, tunnelPolicy ?? underlay, sandbox),
    });
    this.#wiring = new LabWiring(this.#sandbox, new Switches(directory, { resources: this.#resources, trash }), shaping, paths.shaper, {
      natPolicy,
      tunnelPolicy,
      underlay,
      names,
      nodeHosts: this.#nodeHosts,
    });
  }

  /** Adopts the sandbox that an earlier run of the service left, or removes the remains of a dead one. Works once, and again after a failure. */
  adopt(): Promise<void> {
    return this.#sandbox.adopt();
  }

  /** Puts the names of the lab's nodes into the machine's hosts file again. */
  async renewNames(definition: LabDefinition): Promise<void> {
    if (this.sandbox !== null) await this.#names?.set(this.directory, definition);
  }

  get sandbox(): Sandbox | null {
    return this.#sandbox.sandbox;
  }

  /** Throws host_error if the lab's holder is of another release: such a lab can only be stopped as a whole. */
  refuseForeign(stopping: readonly number[] = []): Promise<void> {
    return this.#sandbox.refuseForeign(stopping);
  }

  /** Returns whether a process of the lab runs. */
  get isAlive(): boolean {
    return this.#sandbox.isAlive;
  }

  /** Returns the failure that refuses changes while the lab's holder does not answer; `undefined` if it answers. */
  hanging(): Failure | undefined {
    return this.#sandbox.hanging();
  }

  /** Throws host_timeout if the lab's holder does not answer. Called before a change, so that nothing is recorded that cannot be done. */
  async refuseHanging(): Promise<void> {
    await this.#sandbox.states();
  }

  /** Number of changes of the lab's fabric so far. A readiness check is repeated after each. */
  get wiringChanges(): number {
    return this.#wiring.changes;
  }

  /** Returns node id → state, and the same object again while nothing has changed. Throws host_timeout if the lab's holder hangs. */
  async life(definition: LabDefinition, catalogue: Catalogue): Promise<ReadonlyMap<number, NodeLife>> {
    return this.#lifeOf(definition, catalogue, await this.#sandbox.states());
  }

  /** Returns the same. If the lab's holder hangs, returns the states that the process table shows. */
  async seenLife(definition: LabDefinition, catalogue: Catalogue): Promise<ReadonlyMap<number, NodeLife>> {
    return this.#lifeOf(definition, catalogue, await this.#sandbox.seenStates());
  }

  #lifeOf(definition: LabDefinition, catalogue: Catalogue, states: ReadonlyMap<number, NodeState>): ReadonlyMap<number, NodeLife> {
    const { isAlive } = this.#sandbox;
    const known = this.#life;
    if (known?.definition === definition && known.states === states && known.catalogue === catalogue && known.isAlive === isAlive)
      return known.life;
    const life = new Map<number, NodeLife>();
    const lab = { directory: this.directory, bootId: this.#bootId, stands: isAlive };
    const daemons = states.get(switchingNode);
    for (const node of definition.nodes) {
      const isVlanAware = node.switching !== undefined && isSwitch(node, catalogue);
      const one = isVlanAware ? switchLife(lab, node, daemons) : nodeLife(lab, node, states.get(node.id), backendOf(node, catalogue));
      life.set(node.id, one);
    }
    // Never cached for labs with hibernated VMs: the saved state is checked on disk each time.
    const isCacheable = definition.nodes.every(({ power }) => power !== "suspended");
    this.#life = isCacheable ? { definition, states, catalogue, isAlive, life } : undefined;
    return life;
  }

  /**
   * Starts these nodes of the definition together: they are spawned and wired in batches, and a node boots as soon as everything that it is connected to
   * exists. Running nodes are left alone. Throws host_error; then no node runs that did not run before.
   * @param record records the nodes that are to run, right before they boot: no node boots that is not recorded
   */
  start(
    definition: LabDefinition,
    ids: ReadonlySet<number>,
    catalogue: Catalogue,
    record: (ids: ReadonlySet<number>) => Promise<void>,
  ): Promise<void> {
    const publish = (options: PublishOptions) => this.publish(definition, catalogue, options);
    const lab = {
      sandbox: this.#sandbox,
      wiring: this.#wiring,
      resources: this.#resources,
      nodeHosts: this.#nodeHosts,
      binds: this.#binds,
      snapshots: this.#snapshots,
      publish,
      warn: this.#warn,
    };
    return startNodes(lab, { definition, ids, catalogue, record });
  }

  /**
   * Ends these nodes' processes, or freezes them in mode 2. Switches have no processes: the next reconcile of the fabric removes them. A stop in another mode
   * removes the saved state of a hibernated virtual machine.
   * @returns the nodes that did not end by themselves and were switched off, with the time that they had, in ms
   */
  stop(nodes: readonly DefinedNode[], mode: StopMode, catalogue: Catalogue): Promise<ReadonlyMap<number, number>> {
    return stopNodes(this.#sandbox, this.#stopGrace, { nodes, mode, catalogue });
  }

  /** Makes the fabric what the definition asks for, and repairs what a crash interrupted. By default, the whole of it. */
  async reconcileFabric(definition: LabDefinition, catalogue: Catalogue, scope?: FabricScope): Promise<void> {
    await this.#wiring.reconcileFabric(definition, catalogue, scope);
    if (scope?.of !== "link") await this.publish(definition, catalogue, { strict: false });
  }

  /** Chooses the addresses of nodes in the management network. Throws host_error if that is not possible. */
  settleManagement(definition: LabDefinition, catalogue: Catalogue): Promise<void> {
    return this.#wiring.settleManagement(definition, catalogue);
  }

  publish(definition: LabDefinition, catalogue: Catalogue, options: PublishOptions): Promise<void> {
    return publishPorts(this.#ports, this.#sandbox, definition, catalogue, options);
  }

  /** Returns node → why declared ports of it are closed, though it runs. */
  closedPorts(): ReadonlyMap<number, readonly string[]> {
    return this.#ports.missing(this.id);
  }

  /** Applies the declared limits to the running ones of these nodes. */
  async limit(definition: LabDefinition, ids: ReadonlySet<number>, catalogue: Catalogue): Promise<void> {
    const states = await this.#sandbox.states();
    const { sandbox } = this.#sandbox;
    if (sandbox === null) return;
    const running = definition.nodes.filter(({ id }) => ids.has(id) && (states.get(id)?.pid ?? 0) > 0);
    await this.#resources.limit(sandbox, running, catalogue);
  }

  /** Returns the load of the running nodes, as far as the machine counts it. */
  async load(): Promise<ReadonlyMap<number, NodeLoad>> {
    return this.#resources.load(await this.#sandbox.states());
  }

  /** Changes a link's quality until further notice, without declaring it. The next reconcile with the link in its scope puts it in force. */
  setLiveQuality(link: DefinedLink, quality: LinkQuality): void {
    this.#wiring.setLiveQuality(link, quality);
  }

  /** Returns the qualities of impaired links, as the shaper reports them. */
  liveQualities(): Promise<ReadonlyMap<number, LiveQuality>> {
    const hanging = this.hanging();
    if (hanging !== undefined) return Promise.reject(hanging);
    return this.#wiring.liveQualities();
  }

  /** Ends everything of the lab that runs. Its directory stays. */
  destroy(): Promise<void> {
    return this.#sandbox.destroy();
  }

  /** Closes the connections to the sandbox, which goes on running. */
  release(): void {
    this.#sandbox.release();
  }

  /** As runningAddresses. */
  addresses(definition: LabDefinition, catalogue: Catalogue): Promise<ReadonlyMap<number, InterfaceAddresses>> {
    return runningAddresses(this.#sandbox, this.#program, definition, catalogue);
  }

  /** Returns node → path of its VNC socket, for running virtual machines with a screen. */
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
