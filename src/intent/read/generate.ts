import { compareNatural } from "../../base/natural-order.ts";
import { addressOnly, addressText, families, type InterfaceAddress, interfaceAddress } from "../addresses/interface-address.ts";
import { didYouMean } from "../diagnostics/nearest.ts";
import { Problems } from "../diagnostics/problems.ts";
import { type Field, fieldOf, isNull } from "../fields/fields.ts";
import { readAddressing } from "../fields/read-addressing.ts";
import { readRouting } from "../fields/read-routing.ts";
import { type AddressedNode, type Addresses, assignAddresses, loopback } from "../generate/assign-addresses.ts";
import { interfacesText, withGenerated, writtenInFrr } from "../generate/frr-text.ts";
import { addTo } from "../generate/multimap.ts";
import type { WrittenAddresses } from "../generate/pools.ts";
import { renderConfigs, type TemplatedNode } from "../generate/render-configs.ts";
import { type Router, type RouterText, routeNodes } from "../generate/route-nodes.ts";
import type { Routing, RoutingProtocol, RoutingSettings } from "../generate/routing.ts";
import { type Segment, type SegmentEnd, segmentsOf } from "../generate/segments.ts";
import type { LabNode, Scalar } from "../lab/lab.ts";
import type { MapValue } from "../parse/parse.ts";
import { readVariables } from "../parse/variables.ts";
import type { ReadContext } from "./node-fields.ts";
import type { ReadNetwork } from "./read-extras.ts";
import type { ReadLink } from "./read-links.ts";
import type { ReadNode } from "./read-nodes.ts";

/** The parts of a lab that addresses and configurations are made from. */
export interface LabParts {
  readonly root: MapValue;
  readonly nodes: ReadonlyMap<string, ReadNode>;
  readonly networks: ReadonlyMap<string, ReadNetwork>;
  readonly links: readonly ReadLink[];
  /** JSON pointer. */
  readonly linksPath: string;
}

/** Templates whose nodes can have addresses. */
const linux = "linux";
const frr = "frr";

/** Returns the nodes with the commands and configurations that addressing, routing and templates make; undefined if the lab has none of them. */
export function withGeneratedNodes(context: ReadContext, parts: LabParts): ReadonlyMap<string, LabNode> | undefined {
  const { problems } = context;
  const { root, nodes } = parts;
  const addressing = fieldOf(root, "addressing", "");
  const pools = addressing && readAddressing(problems, addressing);
  const routing = fieldOf(root, "routing", "");
  const ofLab = routing && readRouting(problems, routing);
  const isUsed = [...nodes.values()].some(
    ({ addresses, routing: own, template }) => addresses !== undefined || template !== undefined || (own !== undefined && own !== null),
  );
  if (pools === undefined && ofLab === undefined && !isUsed) return undefined;
  // Without the links that are wrong, addresses would be wrong too.
  if (problems.hasErrors) return undefined;
  checkAddresses(context, parts);
  const segments = segmentsOf(parts.nodes, parts.networks, parts.links, parts.linksPath);
  const addressed = new Map([...nodes].flatMap(([key, read]) => (isAddressed(read.node) ? [[key, addressedNode(read)] as const] : [])));
  const addresses = assignAddresses(problems, pools ?? {}, addressed, segments);
  const routes = gatewaysOf(nodes, segments, addresses, pools !== undefined);
  const routers = new Map(
    [...nodes].flatMap(([key, read]) => {
      const router = routerOf(context, read, ofLab, routing);
      return router === undefined ? [] : [[key, router] as const];
    }),
  );
  const texts = problems.hasErrors ? new Map<string, RouterText>() : routeNodes(problems, routers, segments, addresses);
  const configs = problems.hasErrors
    ? new Map<string, string>()
    : renderConfigs(problems, { name: labName(root), nodes: rendered(nodes), segments, addresses, variables: variablesOf(context, root) });
  return new Map(
    [...nodes].map(([key, { node: authored }]) => {
      const of = addressed.get(key);
      const config = configs.get(key);
      const node = config === undefined ? authored : { ...authored, startupConfig: config };
      if (of === undefined) return [key, node] as const;
      const own = addressesToSet(of, addresses.get(key) ?? new Map());
      return [key, node.template === frr ? withConfig(node, own, texts.get(key)) : withCommands(node, own, routes.get(key) ?? [])] as const;
    }),
  );
}

function labName(root: MapValue): string {
  const { value } = root.entries.get("name") ?? {};
  return value?.kind === "scalar" ? value.text : "";
}

/** The values of variables. Expanding the lab has reported their problems already. */
function variablesOf({ files }: ReadContext, root: MapValue): ReadonlyMap<string, Scalar> {
  const variables = readVariables(root, files, new Problems(""));
  return new Map([...variables].map(([name, value]) => [name, value?.value ?? ""]));
}

function rendered(nodes: ReadonlyMap<string, ReadNode>): ReadonlyMap<string, TemplatedNode> {
  return new Map(
    [...nodes].map(([key, { node, groups, template }]) => {
      const file = template?.template?.file;
      return [key, { node, groups, ...(template !== undefined && file !== undefined && { source: { file, text: template.text } }) }];
    }),
  );
}

/**
 * Returns the node as a router, with the protocols of the lab, of its groups and kind, and its own ones, which replace the others. Returns undefined for a node without
 * the template frr, and reports an error if such a node has routing.
 */
function routerOf({ problems }: ReadContext, read: ReadNode, ofLab: Routing | undefined, at: Field | undefined): Router | undefined {
  const { node, routing, source, entry, path } = read;
  const own = source?.map.entries.get("routing");
  const place = own?.place ?? (routing == null ? at?.place : undefined) ?? entry.place;
  const where = own === undefined ? (routing == null ? (at?.path ?? path) : path) : `${path}/routing`;
  if (node.template !== frr) {
    if (own !== undefined && !isNull(own.value)) {
      problems.error(
        "invalid_value",
        place,
        where,
        `node ${node.key} has the template ${node.template}: only frr nodes have routing`,
        "configure it in the node itself",
      );
    }
    return undefined;
  }
  const all = routing === null ? [] : [...(ofLab ?? []), ...(routing ?? [])];
  const protocols = new Map([...new Map(all)].filter((one): one is [RoutingProtocol, RoutingSettings] => one[1] !== null));
  return { key: node.key, protocols, config: node.startupConfig ?? "", place, path: where };
}

function isAddressed({ template }: LabNode): boolean {
  return template === linux || template === frr;
}

/** Addresses must be of interfaces that a link has, so that a typing error is found. */
function checkAddresses({ problems }: ReadContext, { nodes, links }: LabParts): void {
  const linked = new Map<string, string[]>();
  for (const { link } of links) for (const end of link.endpoints) if ("node" in end) addTo(linked, end.node, end.interface);
  for (const [key, { node, addresses }] of nodes) {
    const known = new Set(addresses === undefined ? [] : [loopback, ...(linked.get(key) ?? [])]);
    for (const [name, { place, path }] of addresses ?? []) {
      if (!isAddressed(node)) {
        problems.error(
          "invalid_value",
          place,
          path,
          "only nodes of the templates linux and frr have addresses here",
          "configure it in the node itself",
        );
      } else if (!known.has(name)) {
        const hint = didYouMean(name, known, problems.effort) ?? `interfaces: ${[...known].slice(0, 8).join(", ")}`;
        problems.error(
          "unknown_interface",
          place,
          path,
          `no link of node ${key} has the interface ${JSON.stringify(name.slice(0, 80))}`,
          hint,
        );
      }
    }
  }
}

/** The addresses that a node's author wrote: in `addresses`, in its configuration of FRR, or in its commands. */
function addressedNode(read: ReadNode): AddressedNode {
  const { node, addresses, entry, path } = read;
  const inText = node.template === frr ? writtenInFrr(node.startupConfig ?? "") : writtenInCommands(node);
  const written = new Map<string, WrittenAddresses>(addresses ?? []);
  for (const [name, list] of inText) {
    const more = written.get(name);
    written.set(name, { place: more?.place ?? entry.place, path: more?.path ?? path, list: [...(more?.list ?? []), ...list] });
  }
  return { key: node.key, isRouter: node.template === frr, written, inText, place: entry.place, path };
}

function writtenInCommands(node: LabNode): ReadonlyMap<string, readonly InterfaceAddress[]> {
  const found = new Map<string, InterfaceAddress[]>();
  for (const words of commandsOf(node)) {
    const [object = "", action = "", address = ""] = /^-[46]$/.test(words[1] ?? "") ? words.slice(2) : words.slice(1);
    const name = words[words.indexOf("dev") + 1];
    if (words[0] !== "ip" || !/^a(?:ddr(?:ess)?)?$/.test(object) || !/^(?:add|replace)$/.test(action)) continue;
    const one = interfaceAddress(address);
    if (one !== undefined && name !== undefined && words.includes("dev")) addTo(found, name, one);
  }
  return found;
}

/** A longer line is not of a person. */
const maxCommand = 300;

/** Returns the words of each command that a linux node runs at its start. */
function commandsOf({ exec, startupConfig = "" }: LabNode): readonly (readonly string[])[] {
  const lines = [startupConfig, ...exec].flatMap((text) => text.split("\n"));
  return lines.flatMap((line) => (line.length <= maxCommand && line.trimStart().startsWith("ip") ? [line.trim().split(/\s+/)] : []));
}

/** Returns the default routes of each host at whose only network there is a router. */
function gatewaysOf(
  nodes: ReadonlyMap<string, ReadNode>,
  segments: readonly Segment[],
  addresses: Addresses,
  hasPools: boolean,
): ReadonlyMap<string, readonly string[]> {
  const result = new Map<string, readonly string[]>();
  if (!hasPools) return result;
  const ofNode = new Map<string, { readonly segment: Segment; readonly end: SegmentEnd }[]>();
  for (const segment of segments) {
    for (const end of segment.ends) {
      if (nodes.get(end.node)?.node.template === linux) addTo(ofNode, end.node, { segment, end });
    }
  }
  const routers = new Map<Segment, readonly SegmentEnd[]>();
  for (const [key, at] of ofNode) {
    const [only, another] = at;
    const node = nodes.get(key)?.node as LabNode;
    if (only === undefined || another !== undefined || hasDefaultRoute(node)) continue;
    const { segment, end } = only;
    const ends = routers.get(segment) ?? segment.ends.filter(({ node: name }) => nodes.get(name)?.node.template === frr);
    routers.set(segment, ends);
    const [router] = ends.toSorted((a, b) => compareNatural(a.node, b.node));
    const list = (router && addresses.get(router.node)?.get(router.interface)) ?? [];
    const own = addresses.get(key)?.get(end.interface) ?? [];
    const routes = families.flatMap((family) => {
      const gateway = list.find((address) => address.family === family);
      if (gateway === undefined || !own.some((address) => address.family === family)) return [];
      const via = addressOnly(gateway);
      // Without a carrier, IPv6 does not know that it reaches the router directly.
      return [family === 4 ? `ip route add default via ${via}` : `ip -6 route add default via ${via} dev ${end.interface} onlink`];
    });
    result.set(key, routes);
  }
  return result;
}

function hasDefaultRoute(node: LabNode): boolean {
  return commandsOf(node).some((words) => words.includes("default"));
}

/** Returns the addresses that the node's own configuration and commands do not set, in the order of interfaces. */
function addressesToSet(
  { inText }: AddressedNode,
  own: ReadonlyMap<string, readonly InterfaceAddress[]>,
): ReadonlyMap<string, readonly InterfaceAddress[]> {
  const wanted = new Map<string, readonly InterfaceAddress[]>();
  for (const [name, list] of [...own].sort(([a], [b]) => compareNatural(a, b))) {
    const known = new Set((inText.get(name) ?? []).map(addressText));
    const left = list.filter((address) => !known.has(addressText(address)));
    if (left.length > 0) wanted.set(name, left);
  }
  return wanted;
}

function withConfig(node: LabNode, own: ReadonlyMap<string, readonly InterfaceAddress[]>, routing: RouterText | undefined): LabNode {
  if (own.size === 0 && routing === undefined) return node;
  const { first = "", interfaces = new Map<string, readonly string[]>(), last = "" } = routing ?? {};
  return withGenerated(node, `${first}${interfacesText(own, interfaces)}${last}`);
}

function withCommands(node: LabNode, own: ReadonlyMap<string, readonly InterfaceAddress[]>, routes: readonly string[]): LabNode {
  const addresses = [...own].flatMap(([name, list]) => list.map((address) => `ip addr add ${addressText(address)} dev ${name}`));
  const all = [...addresses, ...routes];
  return all.length === 0 ? node : { ...node, exec: [...all, ...node.exec] };
}
