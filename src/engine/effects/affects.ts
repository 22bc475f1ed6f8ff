import { compareNatural } from "../../base/natural-order.ts";
import type { LinkWork, NetworkWork, NodeWork } from "../compare/comparison.ts";
import { goesDown } from "./settle.ts";

/** Above this many members the network's key stands for them: lists of lists would grow with the square of the lab. */
const mostMembers = 100;

/** Who else feels that a node goes down: its links, the running nodes at their other ends, the other members of its networks. */
export function affectedByNode(node: NodeWork): readonly string[] {
  const affected = new Set<string>();
  addNode(affected, node);
  affected.delete(node.key);
  return sorted(affected);
}

/** Who feels a change of a link: its running nodes, and for those that must go down because of it all that feel that. */
export function affectedByLink(link: LinkWork): readonly string[] {
  if (link.level === "none") return [];
  const affected = new Set<string>();
  for (const node of link.nodes) {
    if (node.up) affected.add(node.key);
    if (goesDown(node) && node.template?.links !== "live") addNode(affected, node);
  }
  affected.delete(link.key);
  return sorted(affected);
}

export function affectedByNetwork(network: NetworkWork): readonly string[] {
  if (network.level === "none") return [];
  const affected = new Set<string>();
  for (const link of network.links) {
    if (link.before === undefined) continue;
    affected.add(link.key);
    for (const node of link.nodes) {
      if (node.up) affected.add(node.key);
      if (goesDown(node)) addNode(affected, node);
    }
  }
  return sorted(affected);
}

function addNode(affected: Set<string>, node: NodeWork): void {
  for (const link of node.links) {
    if (link.before === undefined) continue;
    affected.add(link.key);
    for (const peer of link.nodes) if (peer !== node && peer.up) affected.add(peer.key);
    const { network } = link;
    if (network === undefined) continue;
    if (network.links.length > mostMembers) {
      affected.add(network.key);
      continue;
    }
    for (const other of network.links) {
      if (other.before === undefined) continue;
      for (const peer of other.nodes) if (peer !== node && peer.up) affected.add(peer.key);
    }
  }
}

function sorted(keys: ReadonlySet<string>): readonly string[] {
  return [...keys].sort(compareNatural);
}
