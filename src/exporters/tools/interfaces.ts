import { type InterfaceNaming, interfaceNaming } from "../../base/names/interface-names.ts";
import { type Endpoint, endpointText, type Lab } from "../../intent/lab/lab.ts";
import { kindOf } from "./kinds.ts";
import { machineOf } from "./machines.ts";

/** One end of a link, and its index among the interfaces of its node. */
export interface NumberedEnd {
  readonly node: string;
  readonly interface: string;
  readonly index: number;
}

/**
 * Numbers the interfaces that links use, for tools that count instead of naming: eth2 is number 2, and Gi0/1 of a router of Cisco is number 1. Other names get the
 * numbers that are left, in natural order. Returns the ends by node.
 */
export function numberedInterfaces(lab: Lab): ReadonlyMap<string, readonly NumberedEnd[]> {
  const names = new Map<string, Set<string>>(lab.nodes.map(({ key }) => [key, new Set()]));
  for (const end of lab.links.flatMap(({ endpoints }) => endpoints)) if ("node" in end) names.get(end.node)?.add(end.interface);
  const formats = new Map(lab.nodes.map((node) => [node.key, (kindOf(node) ?? machineOf(node))?.format ?? "eth{0}"]));
  return new Map([...names].map(([node, used]) => [node, numbered(node, [...used], interfaceNaming(formats.get(node) ?? "eth{0}"))]));
}

/** More interfaces than this exist in none of the tools: a name such as eth9999 counts like any other name. */
const maxIndex = 63;

function numbered(node: string, names: readonly string[], naming: InterfaceNaming): readonly NumberedEnd[] {
  const collator = new Intl.Collator("en", { numeric: true });
  const sorted = [...names].sort((a, b) => collator.compare(a, b) || (a < b ? -1 : 1));
  const given = new Map<string, number>();
  const taken = new Set<number>();
  for (const name of sorted) {
    const index = naming.index(name) ?? Number(/^eth(0|[1-9]\d?)$/.exec(name)?.[1] ?? Number.NaN);
    if (!(index <= maxIndex) || taken.has(index)) continue;
    given.set(name, index);
    taken.add(index);
  }
  let free = 0;
  for (const name of sorted) {
    if (given.has(name)) continue;
    while (taken.has(free)) free++;
    given.set(name, free);
    taken.add(free);
  }
  return sorted.map((name) => ({ node, interface: name, index: given.get(name) ?? 0 })).sort((a, b) => a.index - b.index);
}

/** Returns the number of an end's interface. */
export function indexOf(ends: ReadonlyMap<string, readonly NumberedEnd[]>, end: Endpoint): number {
  if ("network" in end) throw new Error(`${endpointText(end)} is a network, which has no interfaces`);
  return ends.get(end.node)?.find((one) => one.interface === end.interface)?.index ?? 0;
}

/** Returns the number of interfaces that a node needs: those that it declares, and those up to its last link. */
export function interfaceCount(ends: readonly NumberedEnd[] | undefined, declared = 0): number {
  return Math.max(declared, (ends?.at(-1)?.index ?? -1) + 1, 1);
}
