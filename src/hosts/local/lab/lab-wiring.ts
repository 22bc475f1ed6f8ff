import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "../../../contract/errors.ts";
import type { DefinedLink, LabDefinition } from "../definitions/definition.ts";
import { EarlyWiring } from "../links/early-wiring.ts";
import {
  type Fabric,
  type FabricChange,
  fabricChange,
  shapedEnds,
  standingCables,
  type WantedFabric,
  wantedFabric,
  wantedLink,
} from "../links/fabric.ts";
import { editedPart, type FabricPart, linksAt, wantedPart, withNeighbours } from "../links/fabric-part.ts";
import { readFabric, readPorts } from "../links/read-fabric.ts";
import { redirectPorts } from "../links/redirect-ports.ts";
import { runBatch } from "../links/run-batch.ts";
import { succeeded } from "../machine/machine.ts";
import { ensureUplinks, renewUplinks } from "../nat/nat.ts";
import type { NatPolicy } from "../nat/nat-rules.ts";
import { liveNodes } from "../nodes/node-life.ts";
import { openShaper } from "../quality/open-shaper.ts";
import { effects, hasEffect, type Sides } from "../quality/quality.ts";
import { LinkQualities } from "../quality/quality-live.ts";
import type { ShapingMeans } from "../quality/quality-means.ts";
import type { LinkShaper } from "../quality/quality-shaper.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import type { LabSandbox } from "./lab-sandbox.ts";

/** What of a link is in force. */
export interface LinkLife {
  readonly a?: Sides["a"];
  readonly b?: Sides["b"];
}

/** How one lab's fabric follows its definition: ports, links, networks and the qualities of links, in the sandbox that the lab has now. */
export class LabWiring {
  readonly #lab: LabSandbox;
  readonly #shaping: Promise<ShapingMeans>;
  readonly #shaperProgram: string;
  readonly #natPolicy: NatPolicy;
  readonly #qualities = new LinkQualities();
  #shaper: LinkShaper | null = null;
  #count = 0;
  /** Counts what the lab's nodes did. */
  #happened = 0;
  /** Of #happened, when the fabric was last made whole; undefined after a failure: then what stands is not known. */
  #wholeAt: number | undefined;
  /** Where each port of the whole fabric redirects to. */
  readonly #redirects = new Map<string, string>();

  constructor(lab: LabSandbox, shaping: Promise<ShapingMeans>, shaperProgram: string, natPolicy: NatPolicy) {
    this.#lab = lab;
    this.#shaping = shaping;
    this.#shaperProgram = shaperProgram;
    this.#natPolicy = natPolicy;
  }

  /** Counts what may have changed a node's links: what was ready then need not be ready now. */
  get count(): number {
    return this.#count;
  }

  /** Begins with a sandbox whose fabric is not known. @param adopted an earlier run of the service left it */
  async open(sandbox: Sandbox, adopted: boolean): Promise<void> {
    this.#wholeAt = undefined;
    if (adopted) await renewUplinks(this.#lab.directory, this.#natPolicy);
    this.#shaper = await openShaper(await this.#shaping, this.#shaperProgram, this.#lab.id, sandbox, adopted);
  }

  /** A node did something of its own: what stands is not known any more. */
  happened(): void {
    this.#happened++;
  }

  /** Lets go of what shapes the links, which goes on as long as its sandbox does. */
  close(): void {
    this.#wholeAt = undefined;
    this.#shaper?.close();
    this.#shaper = null;
  }

  /**
   * What makes the ports of these nodes that are about to be spawned, as soon as each is there; a sync follows. undefined where ports of an earlier life of
   * theirs still stand.
   * @param empty nothing was ever made in this sandbox
   * @param onWired told of nodes as soon as all that they are connected to is there; of others nothing is told: they need the sync
   */
  async ahead(
    sandbox: Sandbox,
    definition: LabDefinition,
    spawning: ReadonlySet<number>,
    empty: boolean,
    catalogue: Catalogue,
    onWired: (ids: readonly number[]) => void,
  ): Promise<EarlyWiring | undefined> {
    this.#wholeAt = undefined;
    const actual: Fabric = empty ? { bridges: new Set(), ports: new Map() } : await readFabric(sandbox);
    const portsOf = new Set([...actual.ports.keys()].map((name) => Number(/^n(\d+)i/.exec(name)?.[1])));
    if ([...spawning].some((id) => portsOf.has(id))) return undefined;
    const states = await this.#lab.states();
    const live = new Map([...liveNodes(definition.nodes, states, catalogue), ...[...spawning].map((id) => [id, 0] as const)]);
    // What goes through the shaper is made after the shaper's ends.
    const isPlain = (link: DefinedLink) => !this.#qualities.shapes(link) && !this.#shaper?.cables.has(link.id);
    const plain = definition.links.filter(isPlain);
    const { bridges, ports } = wantedFabric({ ...definition, links: plain }, live, catalogue.template);
    const theirs = [...ports].filter(([, { node }]) => node !== undefined && spawning.has(node));
    const withMore = withNeighbours(
      definition.links.filter((link) => !isPlain(link)),
      new Set(),
    );
    const tell = (ids: readonly number[]) => onWired(ids.filter((id) => spawning.has(id) && !withMore.has(id)));
    const wiredBySync = definition.networks.some(({ type }) => type === "nat");
    const wanted = { bridges, ports: new Map(theirs), shaped: new Map() };
    return new EarlyWiring(sandbox, actual, wanted, this.#shaperProgram, wiredBySync ? undefined : tell);
  }

  /**
   * Makes the fabric what the definition asks for. Reads the kernel first, so that it also repairs what a crash left half done.
   * @param reborn nodes that were just spawned; ports of theirs belong to an earlier life, but for those that were made ahead
   * @param early what made ports ahead: what it leaves is known
   */
  async sync(definition: LabDefinition, catalogue: Catalogue, reborn: ReadonlySet<number> = new Set(), early?: EarlyWiring): Promise<void> {
    const sandbox = this.#lab.changeable();
    if (sandbox === null) return;
    const happened = this.#happened;
    this.#wholeAt = undefined;
    let known = await early?.done();
    if (early !== undefined) this.#count++;
    for (let patience = 50; ; patience--) {
      try {
        await this.#wire(sandbox, definition, catalogue, early === undefined ? reborn : new Set(), known);
        break;
      } catch (error) {
        // The devices of a node that ends go when the kernel comes to it, which may be while we look at them: look again.
        if (patience === 0 || !(error instanceof Failure) || !goneDevice.test(error.message)) throw error;
        known = undefined;
        await delay(10);
      }
    }
    const nat = definition.networks.filter((network) => network.type === "nat").map((network) => network.id);
    if (nat.length > 0 && !catalogue.features.nat) {
      throw new Failure("unsupported", "this host cannot give a lab a nat network", { data: { feature: "nat" } });
    }
    await ensureUplinks(this.#lab.id, this.#lab.directory, sandbox, nat, this.#natPolicy);
    this.#wholeAt = happened;
  }

  /**
   * Makes one link what the definition asks for. Where nothing happened in the lab since the fabric was made whole, only the link's own ports are
   * read and changed; else, and where they are not as they were left, all of it is synced.
   */
  async syncLink(definition: LabDefinition, link: DefinedLink, catalogue: Catalogue): Promise<void> {
    const sandbox = this.#lab.sandbox;
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
    const sandbox = this.#lab.sandbox;
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
    await this.#carryOut(sandbox, wanted, fabricChange(actual, wanted, new Set()), shapes, standingCables(actual));
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
    await this.#carryOut(sandbox, wanted, fabricChange(actual, wanted, new Set()), shapes, standingCables(actual));
    this.#qualities.settleLink(link.id, wanted.shaped.has(link.id));
    return true;
  }

  /** @param known what stands in the fabric, where that need not be read */
  async #wire(
    sandbox: Sandbox,
    definition: LabDefinition,
    catalogue: Catalogue,
    reborn: ReadonlySet<number>,
    known: Fabric | undefined,
  ): Promise<void> {
    const states = await this.#lab.states();
    const live = liveNodes(definition.nodes, states, catalogue);
    const defined = new Set(definition.nodes.map((node) => node.id));
    const strangers = [...states.values()].filter((state) => state.pid > 0 && !defined.has(state.id)).map((state) => state.id);
    if (strangers.length > 0) await this.#lab.kill(strangers);

    this.#qualities.follow(definition.links, this.#shaper?.cables ?? new Map());
    const shapes = catalogue.features.linkQuality ? definition.links.filter((link) => this.#qualities.shapes(link)) : [];
    const actual = known ?? (await readFabric(sandbox));
    this.#redirects.clear();
    const wanted = wantedFabric(definition, live, catalogue.template, new Set(shapes.map(({ id }) => id)));
    await this.#carryOut(sandbox, wanted, fabricChange(actual, wanted, reborn), shapes, standingCables(actual));
    this.#qualities.settle(new Set(wanted.shaped.keys()));
  }

  /**
   * @param shapes the links among those wanted that have a quality
   * @param cables the links whose ends at the shaper stand
   */
  async #carryOut(
    sandbox: Sandbox,
    wanted: WantedFabric,
    change: FabricChange,
    shapes: readonly DefinedLink[],
    cables: readonly number[],
  ): Promise<void> {
    const shaper = this.#shaper;
    if (change.remove !== "") await removeDevices(sandbox, change.remove);
    await runBatch(sandbox, ["ip", "-batch", "-"], change.ip);
    const shaped = shapes.filter(({ id }) => wanted.shaped.has(id));
    await shaper?.put(new Map(shaped.map((link) => [link.id, { mtu: wanted.shaped.get(link.id)!, ...this.#qualities.of(link) }])));
    await redirectPorts(sandbox, this.#shaperProgram, change);
    await runBatch(sandbox, ["ip", "-batch", "-"], change.late);
    await shaper?.drop(cables.filter((id) => !wanted.shaped.has(id)));
    for (const [name, { redirect }] of wanted.ports) {
      if (redirect === undefined) this.#redirects.delete(name);
      else this.#redirects.set(name, redirect);
    }
    for (const { pid, name, mtu } of change.mtu) {
      const argv = ["nsenter", "-t", String(pid), "-n", "ip", "link", "set", "dev", name, "mtu", String(mtu)];
      succeeded(argv, await sandbox.run(argv));
    }
    if (change.remove !== "" || change.ip !== "" || change.tc !== "") this.#count++;
  }

  /** Changes what a link is like now, not what is declared of it. Takes effect with the next sync. */
  changeQuality(link: DefinedLink, sides: Sides): void {
    this.#qualities.change(link, sides);
  }

  /** The links whose quality is changed, as the shaper tells it; where it has died, and until it is back, they pass nothing. */
  async linkLife(): Promise<ReadonlyMap<number, LinkLife>> {
    await this.#lab.settled();
    const shaper = this.#shaper;
    const sandbox = this.#lab.sandbox;
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
}

const severed: Sides = { a: { delay: 0, jitter: 0, loss: 100, bandwidth: 0 }, b: { delay: 0, jitter: 0, loss: 100, bandwidth: 0 } };

const goneDevice = /Cannot find device|No such device|Failed to find .*device/;

/** Devices of a node that died go by themselves, at any moment: one that is gone already is no failure. */
async function removeDevices(sandbox: Sandbox, text: string): Promise<void> {
  const argv = ["ip", "-force", "-batch", "-"];
  const result = await sandbox.run(argv, text);
  const serious = result.stderr.split("\n").filter((line) => !goneDevice.test(line) && !/^(Command failed|$)/.test(line));
  if (serious.length > 0) succeeded(argv, { ...result, stderr: serious.join("; ") });
}
