import { randomInt } from "node:crypto";
import { interfaceNaming } from "../../../engine/model/interface-names.ts";
import type { DefinedEndpoint, DefinedLink, LabDefinition } from "../definitions/definition.ts";
import { macAddress } from "../definitions/mac-address.ts";
import type { LocalTemplate } from "../templates/template.ts";

/**
 * What stands in a lab's fabric net namespace. Names are at most 15 characters and tell what they are:
 * `n<node>i<index>` the fabric end of a node's port, `n<node>x<index>` the inner end of a switch's port, `b<network>` the bridge of a network,
 * `s<node>` the bridge that a switch is, `q<link>a`, `q<link>b` the fabric's ends of a shaped link's two pairs, `p<link>a`, `p<link>b` the shaper's.
 */
export interface Fabric {
  readonly bridges: ReadonlySet<string>;
  readonly ports: ReadonlyMap<string, Port>;
}

export interface Port {
  /** Without carrier at its other end where false. */
  readonly up: boolean;
  readonly mtu: number;
  /** The bridge it is in. */
  readonly master?: string;
  /** The port that gets every frame which comes in here: the other end of a two-ended link. */
  readonly redirect?: string;
}

/** A port as the definition wants it, with what is needed to make it. */
export interface WantedPort extends Port {
  /** Absent for the ends of a shaped link. */
  readonly node?: number;
  /** Its other end: an interface inside the node, the inner end of a switch's port, or the shaper's end. */
  readonly far: { readonly pid: number; readonly name: string; readonly mac: string } | { readonly name: string; readonly bridge?: string };
}

export interface WantedFabric {
  readonly bridges: ReadonlySet<string>;
  readonly ports: ReadonlyMap<string, WantedPort>;
  /** MTU by link id of those that go through the shaper. */
  readonly shaped: ReadonlyMap<number, number>;
}

/** A node that stands: the pid whose net namespace is the node's, as the sandbox sees it, or "bridge" for a switch. */
export type LiveNodes = ReadonlyMap<number, number | "bridge">;

const defaultMtu = 1500;

/** What a veth uses in any case; unless told, the kernel first makes one for each processor. */
const oneQueue = " numtxqueues 1 numrxqueues 1";

/** The fabric's end of a node's port. */
export function portName(node: number, index: number): string {
  return `n${node}i${index}`;
}

export function networkBridge(network: number): string {
  return `b${network}`;
}

/**
 * The fabric that the definition asks for while these nodes are live. A port of a live node always exists; it is up, so that the node
 * sees carrier, where its link leads to something live and is not suspended at that end. A switch has ports only for its links.
 * @param shapes links whose frames are to go through the shaper, where their ends are live
 */
export function wantedFabric(
  definition: LabDefinition,
  live: LiveNodes,
  template: (id: string) => LocalTemplate | undefined,
  shapes: ReadonlySet<number> = new Set(),
): WantedFabric {
  const bridges = new Set(definition.networks.map((network) => networkBridge(network.id)));
  const ports = new Map<string, WantedPort>();
  const shaped = new Map<number, number>();
  const virtual = new Set(definition.nodes.filter((node) => template(node.template)?.backend === "vm").map(({ id }) => id));
  const namings = new Map(definition.nodes.map((node) => [node.id, interfaceNaming(template(node.template)?.ethFormat ?? "eth{0}")]));

  /** Inside its node. A virtual machine's ports are its supervisor's, whatever the guest calls them. */
  const inside = (node: number, index: number) => (virtual.has(node) ? `eth${index}` : namings.get(node)!.name(index));

  const place = (endpoint: DefinedEndpoint): { node: number; index: number } | undefined => {
    if ("network" in endpoint) return undefined;
    const index = namings.get(endpoint.node)?.index(endpoint.interface);
    return index === undefined ? undefined : { node: endpoint.node, index };
  };

  for (const { id, ethernet } of definition.nodes) {
    const pid = live.get(id);
    if (pid === undefined) continue;
    if (pid === "bridge") {
      bridges.add(`s${id}`);
      continue;
    }
    for (let index = 0; index < ethernet; index++) {
      const far = { pid, name: inside(id, index), mac: macAddress(definition.id, id, index) };
      ports.set(portName(id, index), { node: id, far, up: false, mtu: defaultMtu });
    }
  }

  for (const link of definition.links) {
    const mtu = link.mtu ?? defaultMtu;
    const [a, b] = link.endpoints;
    const sides = [
      { here: a, there: b, suspended: link.suspended?.a === true, side: "a" },
      { here: b, there: a, suspended: link.suspended?.b === true, side: "b" },
    ];
    const leads = (end: DefinedEndpoint) => "network" in end || live.has(place(end)?.node ?? -1);
    const through = shapes.has(link.id) && leads(a) && leads(b);
    if (through) shaped.set(link.id, mtu);
    for (const { here, there, suspended, side } of sides) {
      const end = through ? shapedEnd(link.id, side) : undefined;
      if (end !== undefined && "network" in here) {
        ports.set(end.name, { ...end.port, mtu, master: networkBridge(here.network) });
      }
      const own = place(here);
      const pid = own && live.get(own.node);
      if (own === undefined || pid === undefined) continue;
      const name = portName(own.node, own.index);
      const far =
        pid === "bridge"
          ? { name: `n${own.node}x${own.index}`, bridge: `s${own.node}` }
          : { pid, name: inside(own.node, own.index), mac: macAddress(definition.id, own.node, own.index) };
      const base = { node: own.node, far, mtu };
      if (end !== undefined) {
        ports.set(name, { ...base, up: !suspended, redirect: end.name });
        ports.set(end.name, { ...end.port, mtu, redirect: name });
        continue;
      }
      if ("network" in there) {
        ports.set(name, { ...base, up: !suspended, master: networkBridge(there.network) });
        continue;
      }
      const other = place(there);
      const led = other !== undefined && live.has(other.node);
      ports.set(name, led ? { ...base, up: !suspended, redirect: portName(other.node, other.index) } : { ...base, up: false });
    }
  }
  return { bridges, ports, shaped };
}

/** What of wantedFabric belongs to one link of the definition: its nodes' ports for it, and its ends at the shaper. The bridges stand already. */
export function wantedLink(
  definition: LabDefinition,
  link: DefinedLink,
  live: LiveNodes,
  template: (id: string) => LocalTemplate | undefined,
  shapes: ReadonlySet<number>,
): WantedFabric {
  const ends = new Set(link.endpoints.flatMap((end) => ("node" in end ? [end.node] : [])));
  // Without ports of their own, nodes have those of the link alone.
  const nodes = definition.nodes.filter(({ id }) => ends.has(id)).map((node) => ({ ...node, ethernet: 0 }));
  const { ports, shaped } = wantedFabric({ ...definition, nodes, networks: [], links: [link] }, live, template, shapes);
  return { bridges: new Set(), ports, shaped };
}

/** Where a shaped link's side meets the fabric. */
function shapedEnd(link: number, side: string): { readonly name: string; readonly port: Pick<WantedPort, "up" | "far"> } {
  return { name: `q${link}${side}`, port: { up: true, far: { name: `p${link}${side}` } } };
}

/** The names of a link's ends at the shaper. */
export function shapedEnds(link: number): readonly string[] {
  return ["a", "b"].map((side) => shapedEnd(link, side).name);
}

/** The links whose shaped ends stand, wanted or not. */
export function standingCables({ ports }: Pick<Fabric, "ports">): readonly number[] {
  const ids = [...ports.keys()].flatMap((name) => /^q(\d+)[ab]$/.exec(name)?.[1] ?? []).map(Number);
  return [...new Set(ids)].sort((a, b) => a - b);
}

/** Texts for `ip -batch -` and `tc -batch -`, to be run in this order; an empty text needs no process. */
export interface FabricChange {
  /** Run with -force: a device that is gone already, with its node's namespace, is no failure. */
  readonly remove: string;
  readonly ip: string;
  readonly tc: string;
  /** What of `tc` is about redirects, for `labwright-shaper redirect`, which prepares the ports as well: all that a change of a few needs. */
  readonly redirects: string;
  /** For `ip` before `tc`: ports that are new come up. Part of `redirects`, which can do it at the better time. */
  readonly up: string;
  /** For `ip` at last: ports that leave their bridge because their frames go through the shaper now, and carriers to look at. */
  readonly late: string;
  /** Interfaces inside nodes whose MTU must follow; new ones have it from the start. */
  readonly mtu: readonly { readonly pid: number; readonly name: string; readonly mtu: number }[];
}

/**
 * How to get from what stands to what is wanted.
 * @param reborn nodes that were spawned after `actual` was read, or while it was: ports of theirs in it belong to an earlier life
 * @param group a number that no device of the fabric has as its group
 */
export function fabricChange(actual: Fabric, wanted: WantedFabric, reborn: ReadonlySet<number>, group = freshGroup()): FabricChange {
  const gone = new Set<string>();
  for (const name of actual.ports.keys()) {
    const port = wanted.ports.get(name);
    // The shaper removes the ends of its links itself, when what they hold is delivered.
    if (name.startsWith("q")) continue;
    if (port === undefined || (port.node !== undefined && reborn.has(port.node))) gone.add(name);
  }
  for (const name of actual.bridges) if (!wanted.bridges.has(name)) gone.add(name);

  const ip: string[] = [];
  const tc: string[] = [];
  const redirects: string[] = [];
  const late: string[] = [];
  const bridged: string[] = [];
  const mtu: { pid: number; name: string; mtu: number }[] = [];
  let grouped = false;
  for (const name of wanted.bridges) {
    if (!actual.bridges.has(name) || gone.has(name)) ip.push(`link add name ${name} up type bridge stp_state 0 mcast_snooping 0`);
  }
  // The way out of the shaper is there before anything goes in.
  const inOrder = [...wanted.ports].sort(([a], [b]) => Number(b.startsWith("q")) - Number(a.startsWith("q")));
  for (const [name, port] of inOrder) {
    const before = gone.has(name) ? undefined : actual.ports.get(name);
    const size = port.mtu === defaultMtu ? "" : ` mtu ${port.mtu}`;
    if (before === undefined) {
      // The far end first: as the main device of the pair it can be made and brought up in one message, whatever namespace it is in.
      const far = port.far;
      const together = port.up && port.master === undefined ? ` group ${group}` : "";
      if (together !== "") grouped = true;
      ip.push(
        "pid" in far
          ? `link add name ${far.name} address ${far.mac}${size}${oneQueue} netns ${far.pid} up type veth peer name ${name}${size}${oneQueue}${together}`
          : far.bridge !== undefined
            ? `link add name ${far.name} master ${far.bridge}${size}${oneQueue} up type veth peer name ${name}${size}${oneQueue}${together}`
            : // The shaper gets frames as a wire has them: what is larger is cut before.
              `link add name ${far.name}${size}${oneQueue} up type veth peer name ${name}${size}${oneQueue}${together} gso_max_segs 1`,
      );
      if (port.master !== undefined) ip.push(`link set dev ${name} master ${port.master}${port.up ? " up" : ""}`);
      if (port.up && port.master !== undefined) bridged.push(name);
      else if (port.up && "bridge" in far && far.bridge !== undefined) late.push(carrierOf(far.name));
      tc.push(`qdisc replace dev ${name} clsact`);
      if (together !== "" && port.redirect === undefined) redirects.push(name);
    } else {
      const words: string[] = [];
      if (before.master !== port.master) {
        if (port.master !== undefined) words.push(`master ${port.master}`);
        else if (port.redirect === undefined) words.push("nomaster");
        else late.push(`link set dev ${name} nomaster`);
      }
      if (before.mtu !== port.mtu) {
        words.push(`mtu ${port.mtu}`);
        if ("pid" in port.far) mtu.push({ pid: port.far.pid, name: port.far.name, mtu: port.mtu });
        else ip.push(`link set dev ${port.far.name} mtu ${port.mtu}`);
      }
      if (before.up !== port.up) words.push(port.up ? "up" : "down");
      if (words.length > 0) ip.push(`link set dev ${name} ${words.join(" ")}`);
    }
    // A port that was made anew is another device under the same name: a redirect to the old one leads nowhere.
    const renewed = port.redirect !== undefined && (gone.has(port.redirect) || !actual.ports.has(port.redirect));
    if (before?.redirect === port.redirect && !renewed) continue;
    if (port.redirect === undefined) {
      tc.push(`filter del dev ${name} ingress`);
      redirects.push(`${name} -`);
    } else {
      // Where a run was cut off, the port may stand without it.
      if (before !== undefined && before.redirect === undefined) tc.push(`qdisc replace dev ${name} clsact`);
      // u32 that matches everything: unlike matchall it is in every kernel with tc. Replaced by its handle in one step: no frame is lost.
      tc.push(
        `filter replace dev ${name} ingress protocol all prio 1 handle 800::800 u32 match u32 0 0 action mirred egress redirect dev ${port.redirect}`,
      );
      redirects.push(`${name} ${port.redirect}`);
    }
  }
  // All of them in one message, where one each would also ask for each device's number first.
  if (grouped) redirects.unshift(`group ${group} up`);
  ip.push(...bridged.map(carrierOf));
  return {
    remove: removal(gone),
    ip: lines(ip),
    tc: lines(tc),
    redirects: lines(redirects),
    up: grouped ? lines([`link set group ${group} up`]) : "",
    late: lines(late),
    mtu,
  };
}

/**
 * A bridge passes a port's frames when the kernel has come to the port's carrier: of many that are new, to a hundred in a second. Whoever asks
 * after one makes it come to it now.
 */
function carrierOf(name: string): string {
  return `link show dev ${name}`;
}

/** One message that deletes a whole group costs one wait for the kernel's readers; deleting devices one by one costs one each. */
function removal(names: ReadonlySet<string>): string {
  if (names.size === 0) return "";
  return lines([...[...names].map((name) => `link set dev ${name} group ${removalGroup}`), `link del group ${removalGroup}`]);
}

/** A number that nothing else in a fabric uses. */
const removalGroup = 66;

/** Ports keep the group that they came up with, and some of them may be suspended when others of the lab are made, by this service or the next. */
function freshGroup(): number {
  return randomInt(1000, 2 ** 31);
}

function lines(all: readonly string[]): string {
  return all.length === 0 ? "" : `${all.join("\n")}\n`;
}
