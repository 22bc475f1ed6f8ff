import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import type { DefinedLink, LabDefinition } from "../definitions/definition.ts";
import { carryOut, missingDevice } from "../links/carry-out.ts";
import { EarlyWiring } from "../links/early-wiring.ts";
import { type Fabric, isShaperEnd, shapedLinksIn, shaperEnds, type WantedFabric, wantedFabric } from "../links/fabric.ts";
import { fabricChange } from "../links/fabric-change.ts";
import { editedPart, type FabricPart, linkPart, linksOfPart, nodesAt, wantedPart } from "../links/fabric-part.ts";
import { readFabric, readPorts } from "../links/read-fabric.ts";
import type { LabNames } from "../management/lab-names.ts";
import { ensureManagement, settleManagement } from "../management/management.ts";
import type { NodeHosts } from "../management/node-hosts.ts";
import { ensureUplinks, renewUplinks } from "../nat/nat.ts";
import { natRefusal } from "../nat/nat-refusal.ts";
import type { NatPolicy } from "../nat/nat-rules.ts";
import { liveNodes } from "../nodes/node-life.ts";
import { openShaper } from "../quality/open-shaper.ts";
import { impairedSides, isImpaired, type LinkQuality } from "../quality/quality.ts";
import { LinkQualities } from "../quality/quality-live.ts";
import type { ShapingMeans } from "../quality/quality-means.ts";
import type { LinkShaper } from "../quality/quality-shaper.ts";
import { type Sandbox, switchingNode } from "../sandbox/sandbox.ts";
import type { Switches } from "../switching/switches.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { wantedTunnels } from "../tunnels/tunnel.ts";
import type { TunnelPolicy, TunnelUnderlay } from "../tunnels/tunnel-policy.ts";
import { noUnderlay, tunnelRefusal } from "../tunnels/tunnel-refusal.ts";
import { ensureTunnels } from "../tunnels/tunnels.ts";
import type { LabSandbox } from "./lab-sandbox.ts";
import { managedNodes, namedNodes } from "./reach-nodes.ts";

/** The impaired sides of a link, as the shaper reports them. */
export type LiveQuality = Partial<LinkQuality>;

/** The share of a lab that may differ from its definition. The scopes `link` and `edit` are hints: `reconcileFabric` widens them if it must. */
export type FabricScope =
  | { readonly of: "lab" }
  /** These nodes were just spawned. Ports of theirs that existed before belong to an earlier boot, except those that `early` made. */
  | { readonly of: "spawned"; readonly nodes: ReadonlySet<number>; readonly early: EarlyWiring | undefined }
  /** The carrier or the quality of one link. */
  | { readonly of: "link"; readonly id: number }
  /** The differences from the definition `before`. */
  | { readonly of: "edit"; readonly before: LabDefinition };

const wholeLab: FabricScope = { of: "lab" };

/**
 * Makes one lab's fabric – ports, bridges, redirects, shaped links – what the lab's definition asks for. `reconcileFabric(scope)` is the only entry.
 * Its states, and the work of each scope in them:
 *
 * | state         | meaning                                       | entered by                                             |
 * |---------------|-----------------------------------------------|--------------------------------------------------------|
 * | no sandbox    | nothing of the lab runs                       | the end of the sandbox                                 |
 * | `unknown`     | the kernel's devices may have changed         | `open`, `spawning`, `nodeEvent`, a failed reconcile    |
 * | `reconciling` | the whole fabric is being compared            | `reconcileFabric`                                      |
 * | `known`       | the kernel has what the last reconcile wanted | the end of `reconciling`, unless a node event came     |
 *
 * | scope          | no sandbox | `unknown`                                          | `known`                                                        |
 * |----------------|------------|----------------------------------------------------|----------------------------------------------------------------|
 * | `lab`          | nothing    | reads and compares the whole fabric                | reads and compares the whole fabric                            |
 * | `spawned`      | nothing    | the same; does not read what `early` has made      | does not happen: `spawning` comes first                        |
 * | `link`, `edit` | nothing    | as `lab`                                           | compares a part; as `lab` if a port is missing or a step fails |
 */
export class LabWiring {
  readonly #lab: LabSandbox;
  readonly #shaping: Promise<ShapingMeans>;
  readonly #shaperProgram: string;
  readonly #natPolicy: NatPolicy;
  readonly #tunnelPolicy: TunnelPolicy | undefined;
  readonly #underlay: TunnelUnderlay | undefined;
  readonly #names: LabNames | undefined;
  readonly #nodeHosts: NodeHosts;
  readonly #switches: Switches;
  readonly #qualities = new LinkQualities();
  #shaper: LinkShaper | null = null;
  #changes = 0;
  #state: "unknown" | "reconciling" | "known" = "unknown";
  /** Port → the port that its redirect leads to. tc could read one only with all others. */
  readonly #redirects = new Map<string, string>();

  constructor(
    lab: LabSandbox,
    switches: Switches,
    shaping: Promise<ShapingMeans>,
    shaperProgram: string,
    outside: {
      readonly natPolicy: NatPolicy;
      readonly tunnelPolicy: TunnelPolicy | undefined;
      readonly underlay: TunnelUnderlay | undefined;
      readonly names: LabNames | undefined;
      readonly nodeHosts: NodeHosts;
    },
  ) {
    this.#lab = lab;
    this.#switches = switches;
    this.#shaping = shaping;
    this.#shaperProgram = shaperProgram;
    this.#natPolicy = outside.natPolicy;
    this.#tunnelPolicy = outside.tunnelPolicy;
    this.#underlay = outside.underlay;
    this.#names = outside.names;
    this.#nodeHosts = outside.nodeHosts;
  }

  /** Number of changes of the fabric so far. A readiness check is repeated after each. */
  get changes(): number {
    return this.#changes;
  }

  /** Takes a new sandbox, or an adopted one: one that an earlier run of the service left. */
  async open(sandbox: Sandbox, adopted: boolean): Promise<void> {
    this.#state = "unknown";
    if (adopted) await renewUplinks(this.#lab.directory, this.#natPolicy);
    this.#shaper = await openShaper(await this.#shaping, this.#shaperProgram, this.#lab.id, sandbox, adopted);
  }

  /** Must be called when a node ended or started: the kernel may have removed its ports. */
  nodeEvent(): void {
    this.#state = "unknown";
  }

  /** Closes the connection to the shaper, which runs until its sandbox ends. */
  close(): void {
    this.#state = "unknown";
    this.#shaper?.close();
    this.#shaper = null;
  }

  /**
   * Prepares the wiring of nodes that are about to be spawned. The caller adds each spawned node, and passes the result to `reconcileFabric`. Returns
   * `undefined` if ports of an earlier boot of a spawned node still exist.
   * @param nodes those that are wired early
   * @param all all nodes that are about to be spawned
   * @param empty the sandbox is new, so that its fabric need not be read
   * @param onWired called with nodes as soon as everything that they are connected to exists. Other nodes are ready only after the reconcile.
   */
  async spawning(
    sandbox: Sandbox,
    definition: LabDefinition,
    { nodes, all }: { readonly nodes: ReadonlySet<number>; readonly all: ReadonlySet<number> },
    empty: boolean,
    catalogue: Catalogue,
    onWired: (ids: readonly number[]) => void,
  ): Promise<EarlyWiring | undefined> {
    this.#state = "unknown";
    await this.#switches.ensure(sandbox, definition, catalogue, () => this.#lab.states());
    const actual: Fabric = empty ? { bridges: new Set(), ports: new Map() } : await readFabric(sandbox);
    const portsOf = new Set([...actual.ports.keys()].map((name) => Number(/^n(\d+)i/.exec(name)?.[1])));
    if ([...all].some((id) => portsOf.has(id))) return undefined;
    const states = await this.#lab.states();
    const live = new Map([...liveNodes(definition.nodes, states, catalogue), ...[...nodes].map((id) => [id, 0] as const)]);
    // Redirects into the shaper are set after the shaper's ends exist.
    const isPlain = (link: DefinedLink) => !this.#qualities.needsShaper(link) && !this.#shaper?.links.has(link.id);
    const plain = definition.links.filter(isPlain);
    const { bridges, ports } = wantedFabric({ ...definition, links: plain }, live, catalogue.template);
    const theirs = [...ports].filter(([, { node }]) => node !== undefined && nodes.has(node));
    const atShapedLinks = nodesAt(definition.links.filter((link) => !isPlain(link)));
    const report = (ids: readonly number[]) => onWired(ids.filter((id) => nodes.has(id) && !atShapedLinks.has(id)));
    // Their nodes boot after the whole reconcile.
    const needsUplink = definition.management !== undefined || definition.networks.some(({ type }) => type === "nat" || type === "vxlan");
    const wanted = { bridges, ports: new Map(theirs), shaped: new Map() };
    return new EarlyWiring(sandbox, actual, wanted, this.#shaperProgram, needsUplink ? undefined : report);
  }

  /** Makes the fabric what the definition asks for, and repairs what a crash interrupted. Throws host_error. Never two calls of a lab at once. */
  async reconcileFabric(definition: LabDefinition, catalogue: Catalogue, scope: FabricScope = wholeLab): Promise<void> {
    const sandbox = this.#lab.changeable();
    if (sandbox === null) return;
    const isFresh = scope.of !== "link" && (await this.#switches.ensure(sandbox, definition, catalogue, () => this.#lab.states()));
    if (isFresh) this.#state = "unknown";
    if (!(await this.#reconcilePart(sandbox, definition, catalogue, scope)))
      await this.#reconcileWhole(sandbox, definition, catalogue, scope);
    if (scope.of !== "link") await this.#reconcileManagement(sandbox, definition, catalogue);
    // Nodes that were spawned have not booted yet.
    if (scope.of !== "link" && scope.of !== "spawned") await this.nameNodes(definition, catalogue);
  }

  /** Brings the names of the lab's nodes in the hosts files of running nodes up to date. @param started nodes that started with these names */
  async nameNodes(definition: LabDefinition, catalogue: Catalogue, started: ReadonlySet<number> = new Set()): Promise<void> {
    const { sandbox } = this.#lab;
    if (sandbox === null || !this.#nodeHosts.concerns(sandbox, definition)) return;
    const states = await this.#lab.states();
    const running = namedNodes(definition, catalogue).flatMap((node) => {
      const { pid = 0, state } = states.get(node.id) ?? {};
      return pid > 0 && (state === "running" || state === "booting") ? [{ node, pid }] : [];
    });
    await this.#nodeHosts.update(this.#lab.directory, sandbox, definition, running, started);
  }

  /** Chooses the addresses of the management network. Throws host_error if that is not possible: then no node may start. */
  settleManagement(definition: LabDefinition, catalogue: Catalogue): Promise<void> {
    return settleManagement(this.#lab.directory, definition, managedNodes(definition, catalogue));
  }

  async #reconcileManagement(sandbox: Sandbox, definition: LabDefinition, catalogue: Catalogue): Promise<void> {
    const managed = managedNodes(definition, catalogue);
    for (let attempts = 50; ; attempts--) {
      const states = await this.#lab.states();
      const live = new Map(managed.flatMap(({ id }) => [[id, states.get(id)?.pid ?? 0] as const]).filter(([, pid]) => pid > 0));
      try {
        await ensureManagement(this.#lab.directory, sandbox, definition, managed, live);
        return await this.#names?.set(this.#lab.directory, definition);
      } catch (error) {
        // A node may have ended since its state was read.
        if (attempts === 0 || !(error instanceof Failure) || !goneNode.test(error.message)) throw error;
        await delay(10);
      }
    }
  }

  async #reconcileWhole(sandbox: Sandbox, definition: LabDefinition, catalogue: Catalogue, scope: FabricScope): Promise<void> {
    this.#state = "reconciling";
    try {
      await this.#reconcileLab(sandbox, definition, catalogue, scope);
      // A node event during the reconcile has made the state unknown.
      if (this.#state === "reconciling") this.#state = "known";
    } catch (error) {
      this.#state = "unknown";
      throw error;
    }
  }

  /** Returns the part that the scope concerns; `undefined` if the whole lab must be compared. */
  #partOf(definition: LabDefinition, scope: FabricScope): FabricPart | undefined {
    if (this.#state !== "known") return undefined;
    if (scope.of === "link") return linkPart(scope.id);
    const part = scope.of === "edit" ? editedPart(scope.before, definition) : undefined;
    return part?.links.some((id) => this.#shaper?.links.has(id)) === true ? undefined : part;
  }

  /** Returns false if the whole lab must be compared. */
  async #reconcilePart(sandbox: Sandbox, definition: LabDefinition, catalogue: Catalogue, scope: FabricScope): Promise<boolean> {
    const part = this.#partOf(definition, scope);
    if (part === undefined) return false;
    try {
      return await this.#comparePart(sandbox, scope.of === "edit" ? scope.before : definition, definition, part, catalogue);
    } catch (error) {
      // The reconcile of the whole lab repairs the cause or fails with it.
      if (!(error instanceof Failure)) throw error;
      return false;
    }
  }

  /** Changes one part of the fabric as the definition has it. Returns false, with the fabric unchanged, if a port of the part before the edit is missing. */
  async #comparePart(sandbox: Sandbox, before: LabDefinition, after: LabDefinition, part: FabricPart, catalogue: Catalogue) {
    const links = linksOfPart(after, part);
    const near = new Set([switchingNode, ...part.nodes, ...nodesAt(links), ...nodesAt(linksOfPart(before, part))]);
    const states = new Map((await sandbox.info([...near])).nodes.map((state) => [state.id, state]));
    const nodes = after.nodes.filter(({ id }) => near.has(id));
    const live = liveNodes(nodes, states, catalogue);
    const changed = new Set(part.links);
    for (const link of links) if (changed.delete(link.id)) this.#qualities.followLink(link, this.#shaper?.links.get(link.id));
    for (const removed of changed) this.#qualities.forget(removed);
    const impaired = this.#impaired(links, catalogue);
    const wanted = wantedPart(after, part, live, catalogue.template, new Set(impaired.keys()));
    const old = before === after ? wanted : wantedPart(before, part, live, catalogue.template, new Set(impaired.keys()));
    const names = new Set([...old.ports.keys(), ...wanted.ports.keys(), ...part.links.flatMap(shaperEnds)]);
    const actual = await readPorts(sandbox, [...names], this.#redirects);
    if ([...old.ports.keys()].some((name) => !isShaperEnd(name) && !actual.ports.has(name))) return false;
    const made = await this.#change(sandbox, actual, wanted, new Set(), impaired);
    await this.#switches.configure(sandbox, after, catalogue, made);
    for (const name of names) if (!wanted.ports.has(name)) this.#redirects.delete(name);
    for (const id of part.links) if (!wanted.shaped.has(id)) this.#qualities.endLive(id);
    return true;
  }

  async #reconcileLab(sandbox: Sandbox, definition: LabDefinition, catalogue: Catalogue, scope: FabricScope): Promise<void> {
    const early = scope.of === "spawned" ? scope.early : undefined;
    const respawned = scope.of === "spawned" && early === undefined ? scope.nodes : new Set<number>();
    let known = await early?.done();
    if (early !== undefined) this.#changes++;
    for (let attempts = 50; ; attempts--) {
      try {
        await this.#compareLab(sandbox, definition, catalogue, respawned, known);
        break;
      } catch (error) {
        // The kernel removes the devices of a node that ended, at any moment, also between the read and the change: then the next attempt reads again.
        if (attempts === 0 || !(error instanceof Failure) || !missingDevice.test(error.message)) throw error;
        known = undefined;
        await delay(10);
      }
    }
    await this.#reconcileTunnels(sandbox, definition, catalogue);
    const nat = definition.networks.filter((network) => network.type === "nat");
    if (nat.length > 0 && !catalogue.features.nat) {
      throw natRefusal(
        nat.map(({ name }) => name),
        process.getuid?.() === 0,
      );
    }
    const ids = nat.map(({ id }) => id);
    await ensureUplinks(this.#lab.id, this.#lab.directory, sandbox, ids, this.#natPolicy);
  }

  /** Makes the tunnels that the administrator allows now. Throws operation_not_allowed for others. */
  async #reconcileTunnels(sandbox: Sandbox, definition: LabDefinition, { rules }: Catalogue): Promise<void> {
    const refusals = new Map(
      definition.networks.flatMap((network) => {
        const isHalf = network.vxlan?.cut !== undefined;
        const why = isHalf && this.#underlay === undefined ? noUnderlay(network) : tunnelRefusal(network, rules.tunnels);
        return why === undefined ? [] : [[network.id, why] as const];
      }),
    );
    const wanted = wantedTunnels(definition).filter(({ network }) => !refusals.has(network));
    // Without a policy no lab has one: the fabric need not be read.
    if (this.#tunnelPolicy !== undefined || definition.networks.some(({ vxlan }) => vxlan !== undefined))
      await ensureTunnels(this.#lab.id, sandbox, wanted, this.#tunnelPolicy, this.#underlay);
    for (const refusal of refusals.values()) throw refusal;
  }

  /**
   * @param respawned nodes that were spawned since the fabric was read, or while it was
   * @param known the fabric, if it need not be read
   */
  async #compareLab(
    sandbox: Sandbox,
    definition: LabDefinition,
    catalogue: Catalogue,
    respawned: ReadonlySet<number>,
    known: Fabric | undefined,
  ): Promise<void> {
    const states = await this.#lab.states();
    const live = liveNodes(definition.nodes, states, catalogue);
    const defined = new Set(definition.nodes.map((node) => node.id));
    const isUnknown = (id: number) => id !== switchingNode && !defined.has(id);
    const unknownNodes = [...states.values()].filter((state) => state.pid > 0 && isUnknown(state.id)).map((state) => state.id);
    if (unknownNodes.length > 0) await this.#lab.kill(unknownNodes);

    this.#qualities.follow(definition.links, this.#shaper?.links ?? new Map());
    const impaired = this.#impaired(definition.links, catalogue);
    const actual = known ?? (await readFabric(sandbox));
    this.#redirects.clear();
    const wanted = wantedFabric(definition, live, catalogue.template, new Set(impaired.keys()));
    const made = await this.#change(sandbox, actual, wanted, respawned, impaired);
    await this.#switches.configure(sandbox, definition, catalogue, made);
    this.#qualities.keepLive(wanted.shaped);
  }

  /** Returns the links that must go through the shaper, by id. */
  #impaired(links: readonly DefinedLink[], { features }: Catalogue): ReadonlyMap<number, DefinedLink> {
    return new Map(features.linkQuality ? links.filter((link) => this.#qualities.needsShaper(link)).map((link) => [link.id, link]) : []);
  }

  /** Returns the new devices of VLAN-aware switches. */
  async #change(
    sandbox: Sandbox,
    actual: Fabric,
    wanted: WantedFabric,
    respawned: ReadonlySet<number>,
    impaired: ReadonlyMap<number, DefinedLink>,
  ): Promise<ReadonlySet<string>> {
    const change = fabricChange(actual, wanted, respawned);
    const shaper = this.#shaper;
    const put = [...wanted.shaped].map(([id, mtu]) => [id, { mtu, ...this.#qualities.of(impaired.get(id)!) }] as const);
    const drop = shapedLinksIn(actual).filter((id) => !wanted.shaped.has(id));
    await carryOut(
      sandbox,
      this.#shaperProgram,
      change,
      shaper === null ? undefined : { put: () => shaper.put(new Map(put)), drop: () => shaper.drop(drop) },
    );
    for (const [name, { redirect }] of wanted.ports) {
      if (redirect === undefined) this.#redirects.delete(name);
      else this.#redirects.set(name, redirect);
    }
    if (change.remove !== "" || change.ip !== "" || change.tc !== "") this.#changes++;
    return new Set(change.frames.split("\n").flatMap((name) => wanted.ports.get(name)?.far.name ?? []));
  }

  /** Changes a link's quality until further notice, without declaring it. The next reconcile with the link in its scope puts it in force. */
  setLiveQuality(link: DefinedLink, quality: LinkQuality): void {
    this.#qualities.setLive(link, quality);
  }

  /** Returns the qualities of impaired links, as the shaper reports them. While a shaper that died is restarted, its links have a loss of 100 %. */
  async liveQualities(): Promise<ReadonlyMap<number, LiveQuality>> {
    await this.#lab.ready();
    const shaper = this.#shaper;
    const sandbox = this.#lab.sandbox;
    if (sandbox === null || shaper === null || shaper.links.size === 0) return new Map();
    const states = await shaper.read().catch(async (error: unknown) => {
      if (!(await sandbox.alive())) return new Map<number, never>();
      throw error;
    });
    const qualities = new Map<number, LiveQuality>();
    for (const id of shaper.links.keys()) {
      const quality = states === null ? severed : states.get(id);
      if (quality !== undefined && (isImpaired(quality.a) || isImpaired(quality.b))) qualities.set(id, impairedSides(quality));
    }
    return qualities;
  }
}

/** Errors of ip and nsenter about a node that has ended. */
const goneNode = /Cannot find device|No such device|Invalid "netns" value|No such process|No such file or directory|does not exist/;

const severed: LinkQuality = { a: { delay: 0, jitter: 0, loss: 100, bandwidth: 0 }, b: { delay: 0, jitter: 0, loss: 100, bandwidth: 0 } };
