import { randomInt } from "node:crypto";
import { interfaceNaming } from "../../../engine/model/interface-names.ts";
import type { DefinedEndpoint, LabDefinition } from "../definitions/definition.ts";
import { macAddress } from "../definitions/mac-address.ts";
import type { LocalTemplate } from "../templates/template.ts";

/**
 * The devices in the net namespace of a lab's fabric. Their names have at most 15 characters:
 * - `n<node>i<index>`: the fabric's end of a node's port
 * - `n<node>x<index>`: the inner end of a switch's port
 * - `b<network>`: the bridge of a network
 * - `s<node>`: the bridge of a switch
 * - `q<link>a`, `q<link>b`: the fabric's ends of a shaped link's two pairs; `p<link>a`, `p<link>b`: the shaper's ends
 */
export interface Fabric {
  readonly bridges: ReadonlySet<string>;
  readonly ports: ReadonlyMap<string, Port>;
}

export interface Port {
  /** If false, its other end has no carrier. */
  readonly up: boolean;
  readonly mtu: number;
  /** The bridge it is in. */
  readonly master?: string;
  /** The port that gets every frame received here: the other end of a point-to-point link, or the shaper's end. */
  readonly redirect?: string;
}

/** A port that the definition asks for, with everything needed to make it. */
export interface WantedPort extends Port {
  /** Absent for the ends of a shaped link. */
  readonly node?: number;
  /** Its other end: an interface inside the node, the inner end of a switch's port, or the shaper's end. */
  readonly far: { readonly pid: number; readonly name: string; readonly mac: string } | { readonly name: string; readonly bridge?: string };
}

export interface WantedFabric {
  readonly bridges: ReadonlySet<string>;
  readonly ports: ReadonlyMap<string, WantedPort>;
  /** Shaped link → its MTU. */
  readonly shaped: ReadonlyMap<number, number>;
}

/** Running node → the pid, inside the sandbox, whose net namespace is the node's; "bridge" for a switch. */
export type LiveNodes = ReadonlyMap<number, number | "bridge">;

const defaultMtu = 1500;

/** A veth uses one queue of each kind. By default the kernel first allocates one for each processor. */
const oneQueue = " numtxqueues 1 numrxqueues 1";

/** Returns the name of the fabric's end of a node's port. */
export function portName(node: number, index: number): string {
  return `n${node}i${index}`;
}

export function networkBridge(network: number): string {
  return `b${network}`;
}

/**
 * Returns the fabric that the definition asks for while these nodes are live. A port of a live node always exists. It is up, so that the node sees carrier,
 * if its link leads to a live node or a network and is not suspended at that end. A switch has ports only for its links.
 * @param shapedLinks links whose frames go through the shaper if both ends are live
 */
export function wantedFabric(
  definition: LabDefinition,
  live: LiveNodes,
  template: (id: string) => LocalTemplate | undefined,
  shapedLinks: ReadonlySet<number> = new Set(),
): WantedFabric {
  const bridges = new Set(definition.networks.map((network) => networkBridge(network.id)));
  const ports = new Map<string, WantedPort>();
  const shaped = new Map<number, number>();
  const virtual = new Set(definition.nodes.filter((node) => template(node.template)?.backend === "vm").map(({ id }) => id));
  const namings = new Map(definition.nodes.map((node) => [node.id, interfaceNaming(template(node.template)?.ethFormat ?? "eth{0}")]));

  /** Returns the interface's name inside its node. For a VM it is the name that its supervisor uses, not the guest's. */
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
    const through = shapedLinks.has(link.id) && leads(a) && leads(b);
    if (through) shaped.set(link.id, mtu);
    for (const { here, there, suspended, side } of sides) {
      const end = through ? shaperEnd(link.id, side) : undefined;
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
      const isConnected = other !== undefined && live.has(other.node);
      ports.set(name, isConnected ? { ...base, up: !suspended, redirect: portName(other.node, other.index) } : { ...base, up: false });
    }
  }
  return { bridges, ports, shaped };
}

/** Returns the fabric's end of one side of a shaped link. */
function shaperEnd(link: number, side: string): { readonly name: string; readonly port: Pick<WantedPort, "up" | "far"> } {
  return { name: `q${link}${side}`, port: { up: true, far: { name: `p${link}${side}` } } };
}

/** Returns the names of the fabric's ends of a shaped link. */
export function shaperEnds(link: number): readonly string[] {
  return ["a", "b"].map((side) => shaperEnd(link, side).name);
}

export function isShaperEnd(name: string): boolean {
  return name.startsWith("q");
}

/** Returns the links with an end at the shaper in this fabric, wanted or not. */
export function shapedLinksIn({ ports }: Pick<Fabric, "ports">): readonly number[] {
  const ids = [...ports.keys()].flatMap((name) => /^q(\d+)[ab]$/.exec(name)?.[1] ?? []).map(Number);
  return [...new Set(ids)].sort((a, b) => a - b);
}

/** Texts for `ip -batch -` and `tc -batch -`. `carryOut` runs them in the right order. An empty text needs no process. */
export interface FabricChange {
  /** For `ip -force`: a device that is gone already, with its node's namespace, is no failure. */
  readonly remove: string;
  readonly ip: string;
  readonly tc: string;
  /** The redirects of `tc`, for `labwright-shaper redirect`, which also prepares the ports and brings them up. */
  readonly redirects: string;
  /** For `ip`, if `tc` sets the redirects: brings new ports up. `redirects` contains it too. */
  readonly up: string;
  /** For `ip`, after the redirects: takes ports out of their bridge whose frames now go through the shaper, and asks for carriers. */
  readonly late: string;
  /** Interfaces inside nodes whose MTU changes. New interfaces are made with theirs. */
  readonly mtu: readonly { readonly pid: number; readonly name: string; readonly mtu: number }[];
}

/**
 * Returns the change from the actual to the wanted fabric.
 * @param respawned nodes that were spawned since `actual` was read, or while it was: their ports in it belong to an earlier boot
 * @param group a device group that no device of the fabric has
 */
export function fabricChange(actual: Fabric, wanted: WantedFabric, respawned: ReadonlySet<number>, group = freshGroup()): FabricChange {
  const gone = new Set<string>();
  for (const name of actual.ports.keys()) {
    const port = wanted.ports.get(name);
    // The shaper removes its ends itself, after it has delivered the frames in them.
    if (isShaperEnd(name)) continue;
    if (port === undefined || (port.node !== undefined && respawned.has(port.node))) gone.add(name);
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
  // The shaper's ends come first: frames can leave the shaper before the first frame enters it.
  const inOrder = [...wanted.ports].sort(([a], [b]) => Number(isShaperEnd(b)) - Number(isShaperEnd(a)));
  for (const [name, port] of inOrder) {
    const before = gone.has(name) ? undefined : actual.ports.get(name);
    const size = port.mtu === defaultMtu ? "" : ` mtu ${port.mtu}`;
    if (before === undefined) {
      // The far end is the main device of the pair: it can be made and brought up in one message, in any namespace.
      const far = port.far;
      const together = port.up && port.master === undefined ? ` group ${group}` : "";
      if (together !== "") grouped = true;
      ip.push(
        "pid" in far
          ? `link add name ${far.name} address ${far.mac}${size}${oneQueue} netns ${far.pid} up type veth peer name ${name}${size}${oneQueue}${together}`
          : far.bridge !== undefined
            ? `link add name ${far.name} master ${far.bridge}${size}${oneQueue} up type veth peer name ${name}${size}${oneQueue}${together}`
            : // The kernel cuts larger segments into frames before the shaper gets them.
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
    // A recreated port is another device with the same name: a redirect to the old device leads nowhere.
    const renewed = port.redirect !== undefined && (gone.has(port.redirect) || !actual.ports.has(port.redirect));
    if (before?.redirect === port.redirect && !renewed) continue;
    if (port.redirect === undefined) {
      tc.push(`filter del dev ${name} ingress`);
      redirects.push(`${name} -`);
    } else {
      // An interrupted change may have left the port without a clsact qdisc.
      if (before !== undefined && before.redirect === undefined) tc.push(`qdisc replace dev ${name} clsact`);
      // u32 matches everything here. Unlike matchall, every kernel with tc has it. It is replaced by its handle in one step, which loses no frame.
      tc.push(
        `filter replace dev ${name} ingress protocol all prio 1 handle 800::800 u32 match u32 0 0 action mirred egress redirect dev ${port.redirect}`,
      );
      redirects.push(`${name} ${port.redirect}`);
    }
  }
  // One message brings up the whole group. One message per port would also have to look up each device's index.
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
 * Returns a query that makes the kernel process the device's carrier now. A bridge forwards no frames of a port before that, and by itself the kernel
 * processes about a hundred new carriers a second.
 */
function carrierOf(name: string): string {
  return `link show dev ${name}`;
}

/** Deletes devices as one group: each delete message waits once for the kernel's readers (RCU), however many devices it deletes. */
function removal(names: ReadonlySet<string>): string {
  if (names.size === 0) return "";
  return lines([...[...names].map((name) => `link set dev ${name} group ${removalGroup}`), `link del group ${removalGroup}`]);
}

/** A device group that is used for nothing else in a fabric. */
const removalGroup = 66;

/** Returns a new group: suspended ports may still be in the group that they were made with, by this run of the service or an earlier one. */
function freshGroup(): number {
  return randomInt(1000, 2 ** 31);
}

function lines(all: readonly string[]): string {
  return all.length === 0 ? "" : `${all.join("\n")}\n`;
}
