import { interfaceNaming } from "../../../base/names/interface-names.ts";
import type { DefinedEndpoint, LabDefinition } from "../definitions/definition.ts";
import { macAddress } from "../definitions/mac-address.ts";
import type { LocalTemplate } from "../templates/template.ts";

/**
 * The devices in the net namespace of a lab's fabric. Their names have at most 15 characters:
 * - `n<node>i<index>`: the fabric's end of a node's port
 * - `n<node>x<index>`: the inner end of a switch's port; for a VLAN-aware switch, it is in the net namespace of Open vSwitch
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
  /** Its bridge is half of a link between machines: it passes all frames, as a wire does. */
  readonly isWire?: true;
  /** Its other end: an interface inside the node, the inner end of a switch's port, or the shaper's end. */
  readonly far: FarInNode | { readonly name: string; readonly bridge?: string };
}

interface FarInNode {
  readonly pid: number;
  readonly name: string;
  readonly mac: string;
  /** A program reads frames there, as on a wire: the kernel computes their checksums and cuts what is larger than a frame. */
  readonly asOnWire?: true;
}

export interface WantedFabric {
  readonly bridges: ReadonlySet<string>;
  readonly ports: ReadonlyMap<string, WantedPort>;
  /** Shaped link → its MTU. */
  readonly shaped: ReadonlyMap<number, number>;
}

/** The pid, inside the sandbox, whose net namespace is the node's; "bridge" for a switch; the pid of Open vSwitch for a VLAN-aware switch. */
export type NodePlace = number | "bridge" | { readonly switches: number };

/** Running node → its place. */
export type LiveNodes = ReadonlyMap<number, NodePlace>;

export const defaultMtu = 1500;

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
  const virtual = new Set(
    definition.nodes.filter((node) => node.kernel === "own" || template(node.template)?.backend === "vm").map(({ id }) => id),
  );
  const cuts = new Map(definition.networks.flatMap(({ id, vxlan }) => (vxlan?.cut === undefined ? [] : [[id, vxlan.cut] as const])));
  const wire = (network: number) => (cuts.has(network) ? ({ isWire: true } as const) : {});
  const isUp = (network: number) => cuts.get(network)?.isDown !== true;
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
      bridges.add(switchBridge(id));
      continue;
    }
    if (typeof pid === "object") continue;
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
        ports.set(end.name, { ...end.port, mtu, master: networkBridge(here.network), ...wire(here.network) });
      }
      const own = place(here);
      const pid = own && live.get(own.node);
      if (own === undefined || pid === undefined) continue;
      const name = portName(own.node, own.index);
      const far = farOf(pid, own, () => inside(own.node, own.index), macAddress(definition.id, own.node, own.index));
      const base = { node: own.node, far, mtu };
      if (end !== undefined) {
        ports.set(name, { ...base, up: !suspended && !("network" in there && !isUp(there.network)), redirect: end.name });
        ports.set(end.name, { ...end.port, mtu, redirect: name });
        continue;
      }
      if ("network" in there) {
        const up = !suspended && isUp(there.network);
        ports.set(name, { ...base, up, master: networkBridge(there.network), ...wire(there.network) });
        continue;
      }
      const other = place(there);
      const isConnected = other !== undefined && live.has(other.node);
      ports.set(name, isConnected ? { ...base, up: !suspended, redirect: portName(other.node, other.index) } : { ...base, up: false });
    }
  }
  return { bridges, ports, shaped };
}

function farOf(pid: NodePlace, { node, index }: { node: number; index: number }, inside: () => string, mac: string): WantedPort["far"] {
  const name = `n${node}x${index}`;
  if (pid === "bridge") return { name, bridge: switchBridge(node) };
  return typeof pid === "object" ? { pid: pid.switches, name, mac, asOnWire: true } : { pid, name: inside(), mac };
}

/** Returns the name of the bridge of a switch without VLANs. */
export function switchBridge(node: number): string {
  return `s${node}`;
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
