import { byLayer, canonicalShape } from "../shapes/shape.ts";
import {
  type Endpoint,
  type Lab,
  type LabLink,
  type LabNetwork,
  type LabNode,
  type LabText,
  linkKey,
  type Quality,
  type TrafficFilter,
  type Vxlan,
  vxlanPort,
} from "./lab.ts";
import { qualityFields } from "./quality.ts";

/** Returns the canonical form of a lab: lists sorted, settings without effect left out. Labs of equal meaning become equal data. */
export function canonicalLab(lab: Lab): Lab {
  return {
    name: lab.name,
    ...(lab.description === undefined ? {} : { description: lab.description }),
    ...(lab.management === undefined ? {} : { management: lab.management }),
    nodes: lab.nodes.map((node) => canonicalNode(lab.management === undefined ? withoutAddress(node) : node)).sort(byKey),
    networks: lab.networks.map(canonicalNetwork).sort(byKey),
    links: lab.links.map(canonicalLink).sort(byKey),
    trafficFilters: lab.trafficFilters.map(canonicalFilter).sort((a, b) => order(a.name, b.name)),
    texts: lab.texts.map(({ text, x, y }) => ({ text, x: positive(x), y: positive(y) })).sort(byText),
    ...(lab.shapes === undefined || lab.shapes.length === 0 ? {} : { shapes: lab.shapes.map(canonicalShape).sort(byLayer) }),
    ...(lab.lease === undefined ? {} : { lease: lab.lease }),
    ...(lab.place === undefined ? {} : { place: lab.place }),
    ...(lab.tests === undefined || lab.tests.length === 0 ? {} : { tests: lab.tests }),
    ...(lab.boots === undefined || lab.boots.length === 0 ? {} : { boots: [...lab.boots].sort((a, b) => order(a.node, b.node)) }),
  };
}

/** Without a management network, addresses in it have no effect. */
function withoutAddress(node: LabNode): LabNode {
  if (node.mgmtIpv4 === undefined && node.mgmtIpv6 === undefined) return node;
  const { mgmtIpv4: _ipv4, mgmtIpv6: _ipv6, ...rest } = node;
  return rest;
}

export function canonicalLink(link: LabLink): LabLink {
  const [first, second] = link.endpoints;
  const turned = "network" in first;
  const endpoints: readonly [Endpoint, Endpoint] = turned ? [second, first] : [first, second];
  const a = canonicalQuality(turned ? link.quality?.b : link.quality?.a);
  const b = canonicalQuality(turned ? link.quality?.a : link.quality?.b);
  const { suspended } = link;
  return {
    key: linkKey(...endpoints),
    endpoints,
    ...(a === undefined && b === undefined ? {} : { quality: { ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b }) } }),
    ...(suspended === undefined || (!suspended.a && !suspended.b)
      ? {}
      : { suspended: turned ? { a: suspended.b, b: suspended.a } : { a: suspended.a, b: suspended.b } }),
    ...(link.mtu === undefined ? {} : { mtu: link.mtu }),
  };
}

/** Removes settings without effect; undefined if nothing is left. */
export function canonicalQuality(quality: Quality | undefined): Quality | undefined {
  const kept = qualityFields.filter((field) => (quality?.[field] ?? 0) !== 0).map((field) => [field, quality?.[field]]);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function canonicalNode(node: LabNode): LabNode {
  return defined({
    ...node,
    position: node.position && { x: positive(node.position.x), y: positive(node.position.y) },
    files: node.files && sortedRecord(node.files),
    fileSources: node.fileSources && sortedRecord(node.fileSources),
    binds: node.binds,
    switching: node.switching,
    ports: node.ports,
    sshKeys: node.sshKeys,
    env: sortedRecord(node.env),
    attributes: sortedRecord(node.attributes),
    labels: sortedRecord(node.labels),
  });
}

function canonicalNetwork(network: LabNetwork): LabNetwork {
  return defined({
    ...network,
    vxlan: network.vxlan && canonicalVxlan(network.vxlan),
    position: network.position && { x: positive(network.position.x), y: positive(network.position.y) },
  });
}

/** The usual port is left out. */
function canonicalVxlan({ remote, vni, port }: Vxlan): Vxlan {
  return defined({ remote, vni, port: port === vxlanPort ? undefined : port });
}

function canonicalFilter(filter: TrafficFilter): TrafficFilter {
  const { nodes, links } = filter;
  return defined({
    name: filter.name,
    color: filter.color,
    match: filter.match,
    nodes: nodes === undefined || nodes.length === 0 ? undefined : [...new Set(nodes)].sort(order),
    links: links === undefined || links.length === 0 ? undefined : [...new Set(links.map(orderedLinkKey))].sort(order),
  });
}

/** Returns "a -- b" for "b -- a". */
function orderedLinkKey(text: string): string {
  const [a = "", b = ""] = text.split(" -- ");
  return a < b ? `${a} -- ${b}` : `${b} -- ${a}`;
}

type Optional<T> = { readonly [K in keyof T]: T[K] | undefined };

function defined<T extends object>(value: Optional<T>): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

/** Minus zero becomes zero, because it would be written and read as zero. */
function positive(value: number): number {
  return value === 0 ? 0 : value;
}

export function sortedRecord<T>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  const entries = Object.entries(record).map(([key, value]) => [key, value === 0 ? (0 as T) : value] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => order(a, b)));
}

/** Compares by code units, the same in every locale. */
export function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function byKey(a: { readonly key: string }, b: { readonly key: string }): number {
  return order(a.key, b.key);
}

function byText(a: LabText, b: LabText): number {
  return order(a.text, b.text) || a.x - b.x || a.y - b.y;
}

/** Whether two values are equal as plain data: key order does not matter, absent and undefined are equal. */
export function sameData(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  for (const key of keys) {
    if (!sameData(own(a, key), own(b, key))) return false;
  }
  return true;
}

function own(value: object, key: string): unknown {
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}
