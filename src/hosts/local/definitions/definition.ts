import { formatSeparator, interfaceNames, interfaceNaming } from "../../../base/names/interface-names.ts";
import { compareNatural } from "../../../base/natural-order.ts";
import type { ObservedEndpoint, ObservedLab, ObservedLink, ObservedNode, Power } from "../../../engine/model/observed.ts";
import type { LabFile, LabText, Management, Position, Quality, Scalar, TrafficFilter, Vxlan } from "../../../intent/lab/lab.ts";
import type { Switching } from "../../../intent/lab/switching.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { macAddress } from "./mac-address.ts";

/** A lab as it is persisted in `<state>/labs/<id>/lab.json`. Ids are numbers here and text on the host interface. An id is never reused. */
export interface LabDefinition {
  readonly version: 1;
  /** A uuid; also the directory's name. */
  readonly id: string;
  readonly path: string;
  readonly name: string;
  readonly description?: string;
  readonly management?: Management;
  /** Users see their own labs; administrators and viewers see all. */
  readonly owner: string;
  readonly locked: boolean;
  /** The next unused id of each kind. */
  readonly next: { readonly node: number; readonly network: number; readonly link: number };
  /** Each list sorted by id. */
  readonly nodes: readonly DefinedNode[];
  readonly networks: readonly DefinedNetwork[];
  readonly links: readonly DefinedLink[];
  readonly texts: readonly LabText[];
  readonly trafficFilters: readonly TrafficFilter[];
  /** Name → id of nodes whose disks were kept when an earlier lab at this path was removed. A node created with that name gets the disk. */
  readonly disks?: Readonly<Record<string, number>>;
}

export interface DefinedNode {
  readonly id: number;
  readonly name: string;
  readonly template: string;
  readonly image?: string;
  readonly icon?: string;
  readonly kernel?: "own";
  readonly startupConfig?: string;
  readonly files?: Readonly<Record<string, LabFile>>;
  readonly binds?: readonly string[];
  readonly switching?: Switching;
  readonly ports?: readonly string[];
  readonly mgmtIpv4?: string;
  readonly mgmtIpv6?: string;
  readonly sshKeys?: readonly string[];
  readonly exec: readonly string[];
  readonly cpu?: number;
  readonly ram?: number;
  readonly ethernet: number;
  /** The declared power state: running if true. */
  readonly start?: boolean;
  readonly position?: Position;
  readonly env: Readonly<Record<string, string>>;
  readonly attributes: Readonly<Record<string, Scalar>>;
  readonly labels: Readonly<Record<string, string>>;
  /** The power state that the last start, stop or hibernate (`suspended`) asked for. */
  readonly power: "running" | "stopped" | "suspended";
  /** Boot epoch (boot-epoch.ts) of the node's last start. In a later epoch, a node that does not run counts as stopped, not as lost. */
  readonly bootId?: string;
  /** Its last stop switched it off, because it did not end in time. */
  readonly forced?: true;
}

export interface DefinedNetwork {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly icon?: string;
  readonly position?: Position;
  /** Set exactly for type vxlan. */
  readonly vxlan?: Vxlan;
}

export type DefinedEndpoint = { readonly node: number; readonly interface: string } | { readonly network: number };

export interface DefinedLink {
  readonly id: number;
  readonly endpoints: readonly [DefinedEndpoint, DefinedEndpoint];
  readonly quality?: { readonly a?: Quality; readonly b?: Quality };
  readonly suspended?: { readonly a: boolean; readonly b: boolean };
  readonly mtu?: number;
}

/**
 * Returns the definition as the engine sees a lab.
 * @param power node id → its live power state
 * @param saved node id → the configuration that the node saved by itself, which replaces its startup configuration
 */
export function observeDefinition(
  definition: LabDefinition,
  power: ReadonlyMap<number, Power>,
  catalogue: Pick<Catalogue, "template" | "limits">,
  saved: ReadonlyMap<number, string> = new Map(),
): ObservedLab {
  const { path, id, name, description, management, locked, nodes, networks, links, texts, trafficFilters } = definition;
  const names = linkedNames(definition, catalogue);
  return {
    path,
    id,
    name,
    ...(description === undefined ? {} : { description }),
    ...(management === undefined ? {} : { management }),
    locked,
    lock: locked ? 1 : 0,
    nodes: nodes.map((node) => {
      const config = saved.get(node.id);
      const whole = config === undefined ? node : { ...node, startupConfig: config };
      return observeNode(definition.id, whole, power.get(node.id) ?? "stopped", catalogue, names.get(node.id));
    }),
    networks: networks.map((network) => ({ ...network, id: String(network.id) })),
    links: links.map(observeLink),
    texts,
    trafficFilters: [...trafficFilters].sort((a, b) => compareNatural(a.name, b.name)),
  };
}

/** Returns, by node id and index, the names by which links call interfaces that have several names. */
export function linkedNames(
  { nodes, links }: Pick<LabDefinition, "nodes" | "links">,
  catalogue: Pick<Catalogue, "template">,
): ReadonlyMap<number, ReadonlyMap<number, string>> {
  const namings = new Map(
    nodes.flatMap(({ id, template }) => {
      const format = catalogue.template(template)?.ethFormat ?? "";
      return format.includes(formatSeparator) ? [[id, interfaceNaming(format)] as const] : [];
    }),
  );
  const names = new Map<number, Map<number, string>>();
  if (namings.size === 0) return names;
  for (const end of links.flatMap(({ endpoints }) => endpoints)) {
    const index = "node" in end ? namings.get(end.node)?.index(end.interface) : undefined;
    if (!("node" in end) || index === undefined) continue;
    names.set(end.node, (names.get(end.node) ?? new Map<number, string>()).set(index, end.interface));
  }
  return names;
}

function observeNode(
  lab: string,
  node: DefinedNode,
  power: Power,
  catalogue: Pick<Catalogue, "template" | "limits">,
  names: ReadonlyMap<number, string> | undefined,
): ObservedNode {
  const template = catalogue.template(node.template);
  const limits = catalogue.limits(node);
  const { power: _wanted, bootId: _boot, forced: _forced, ...rest } = node;
  return {
    ...rest,
    id: String(node.id),
    type: template?.type ?? "unknown",
    power,
    consoleType: template?.console.type ?? "none",
    ...(limits === undefined ? {} : { limits }),
    interfaces: interfaceNames(template?.ethFormat ?? "eth{0}", node.ethernet).map((name, index) => ({
      index,
      name: names?.get(index) ?? name,
      type: "ethernet",
      mac: macAddress(lab, node.id, index),
    })),
  };
}

/** Returns the link between these ends, in either order; `undefined` if there is none, or more than one. */
export function findDefinedLink(
  { links }: Pick<LabDefinition, "links">,
  ends: readonly [ObservedEndpoint, ObservedEndpoint],
): ObservedLink | undefined {
  const [x, y] = ends;
  const found = links.filter(({ endpoints: [a, b] }) => (isEnd(a, x) && isEnd(b, y)) || (isEnd(a, y) && isEnd(b, x)));
  return found.length === 1 ? observeLink(found[0]!) : undefined;
}

function isEnd(end: DefinedEndpoint, wanted: ObservedEndpoint): boolean {
  if ("network" in end) return "networkId" in wanted && String(end.network) === wanted.networkId;
  return "nodeId" in wanted && String(end.node) === wanted.nodeId && end.interface === wanted.interface;
}

function observeLink(link: DefinedLink): ObservedLink {
  return { ...link, id: String(link.id), endpoints: [observeEndpoint(link.endpoints[0]), observeEndpoint(link.endpoints[1])] };
}

function observeEndpoint(endpoint: DefinedEndpoint): ObservedEndpoint {
  return "node" in endpoint ? { nodeId: String(endpoint.node), interface: endpoint.interface } : { networkId: String(endpoint.network) };
}
