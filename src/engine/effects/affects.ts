import { compareNatural } from "../../base/natural-order.ts";
import type { LinkWork, NetworkWork, NodeWork } from "../compare/comparison.ts";
import type { Action, Affected } from "../model/plan.ts";
import { goesDown } from "./propagate.ts";

/** A network with more members is listed itself, without its members: the lists of a lab would grow with the square of its size. */
const maxMembers = 100;

/** The part of an action that lists the things it disturbs. */
export type Affects = Pick<Action, "affects" | "affected">;

/** Returns the things that feel that a node goes down: its links, the running nodes at their other ends, the other members of its networks. */
export function affectedByNode(node: NodeWork): Affects {
  const affected = new AffectedThings();
  addNode(affected, node);
  affected.node.delete(node.key);
  return affected.toAffects();
}

/** Returns the things that feel a change of a link: its running nodes, and for each node that must go down because of it, all that feel that. */
export function affectedByLink(link: LinkWork): Affects {
  const affected = new AffectedThings();
  for (const node of link.level === "none" ? [] : link.nodes) {
    if (node.up) affected.node.add(node.key);
    if (goesDown(node) && node.template?.links !== "live") addNode(affected, node);
  }
  affected.link.delete(link.key);
  return affected.toAffects();
}

/** Returns the things that feel a change of a network: its links and their running nodes. */
export function affectedByNetwork(network: NetworkWork): Affects {
  const affected = new AffectedThings();
  for (const link of network.level === "none" ? [] : network.links) {
    if (link.before === undefined) continue;
    affected.link.add(link.key);
    for (const node of link.nodes) {
      if (node.up) affected.node.add(node.key);
      if (goesDown(node)) addNode(affected, node);
    }
  }
  return affected.toAffects();
}

/** Returns these nodes as affected things. */
export function affectedNodes(keys: Iterable<string>): Affects {
  const affected = new AffectedThings();
  for (const key of keys) affected.node.add(key);
  return affected.toAffects();
}

function addNode(affected: AffectedThings, node: NodeWork): void {
  for (const link of node.links) {
    if (link.before === undefined) continue;
    affected.link.add(link.key);
    for (const peer of link.nodes) if (peer !== node && peer.up) affected.node.add(peer.key);
    const { network } = link;
    if (network === undefined) continue;
    if (network.links.length > maxMembers) {
      affected.network.add(network.key);
      continue;
    }
    for (const other of network.links) {
      if (other.before === undefined) continue;
      for (const peer of other.nodes) if (peer !== node && peer.up) affected.node.add(peer.key);
    }
  }
}

/** Keys by kind: a node and a network may have the same key. */
class AffectedThings implements Readonly<Record<Affected["kind"], Set<string>>> {
  readonly node = new Set<string>();
  readonly link = new Set<string>();
  readonly network = new Set<string>();

  toAffects(): Affects {
    const affected = (["node", "link", "network"] as const)
      .flatMap((kind) => [...this[kind]].map((key): Affected => ({ kind, key })))
      .sort((a, b) => compareNatural(a.key, b.key));
    const affects = [...new Set(affected.map(({ key }) => key))];
    return affected.length === 0 ? { affects } : { affects, affected };
  }
}
