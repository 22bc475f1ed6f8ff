import type { Part } from "../../tree/part.ts";
import { refuse } from "../../tree/refuse.ts";
import { deep } from "./deep.ts";
import type { NetlabNode } from "./nodes.ts";

export interface NetlabEnd {
  readonly node: NetlabNode;
  /** The attributes of the interface. */
  readonly part: Part | undefined;
  /** Names the node in the topology. */
  readonly namePart: Part | undefined;
  /** Of the link, chosen when it is written. */
  face: string;
  readonly addresses: string[];
}

export interface NetlabLink {
  readonly ends: readonly NetlabEnd[];
  /** The link, and the group of links that it is in. */
  readonly parts: readonly Part[];
  readonly type: "p2p" | "lan" | "stub" | "loopback";
  /** The prefixes, once they are known. */
  readonly prefixes: string[];
}

type Nodes = ReadonlyMap<string, NetlabNode>;

const maxLinks = 50_000;
const maxDepth = 16;

/** Reads all forms of links: texts, lists of nodes, maps by node, lists of interfaces, groups of links, and links by group. */
export function readLinks(root: Part, nodes: Nodes): readonly NetlabLink[] {
  const links: NetlabLink[] = [];
  const add = (part: Part, around: readonly Part[], depth: number): void => {
    if (links.length >= maxLinks || depth > maxDepth)
      refuse(depth > maxDepth ? "groups of links are nested too deep" : `more than ${maxLinks} links`);
    const members = part.get("members");
    if (part.get("group") !== undefined && members !== undefined) {
      part.get("group")?.mapped("the links of the group");
      for (const member of members.all) add(member, [part, ...around], depth + 1);
      return;
    }
    const link = readLink(part, around, nodes);
    if (link !== undefined) links.push(link);
  };
  const list = root.get("links");
  if (list?.node.kind === "map") for (const [, group] of list.entries) for (const part of linksOfGroup(group, nodes)) add(part, [], 0);
  else for (const part of list?.all ?? []) add(part, [], 0);
  const inside = ["vlans", "vrfs"].flatMap((key) => (root.get(key)?.entries ?? []).flatMap(([, each]) => each.get("links")?.all ?? []));
  for (const part of inside) add(part, [], 0);
  return links;
}

/** A group is a list of links, or one link. */
function linksOfGroup(group: Part, nodes: Nodes): readonly Part[] {
  const isLink = group.node.kind !== "list" || group.items.every(({ text }) => text !== undefined && nodes.has(text));
  return isLink ? [group] : group.items;
}

function readLink(part: Part, around: readonly Part[], nodes: Nodes): NetlabLink | undefined {
  const disabled = part.get("disable");
  if (disabled?.boolean === true) {
    part.dropped("the link is disabled");
    return undefined;
  }
  if (deep(part, "type")?.text === "tunnel") {
    part.dropped("a tunnel is no link: its routers make it");
    return undefined;
  }
  const ends = endsOf(part, nodes);
  if (ends === undefined || ends.length === 0) {
    part.dropped("the link names no node of the topology");
    return undefined;
  }
  const parts = [part, ...around];
  const given = parts.map((each) => deep(each, "type")).find((each) => each !== undefined);
  const hasHost = ends.some(({ node }) => node.isHost);
  const type =
    given?.text === "loopback"
      ? "loopback"
      : ends.length === 1
        ? "stub"
        : given?.text === "lan" || ends.length > 2 || hasHost
          ? "lan"
          : "p2p";
  given?.mapped(type === "loopback" ? "an address of the loopback" : "the pool of its addresses");
  for (const key of ["linkindex", "node_count", "_linkname", "interfaces_count"]) part.get(key)?.dropped("netlab's own data");
  return { ends, parts, type, prefixes: [] };
}

function endsOf(part: Part, nodes: Nodes): NetlabEnd[] | undefined {
  if (part.text !== undefined) return shortEnds(part, nodes);
  if (part.node.kind === "list") return listed(part.items, nodes);
  const interfaces = part.get("interfaces");
  if (interfaces !== undefined) return interfaces.node.kind === "map" ? byNode(interfaces, nodes) : listed(interfaces.all, nodes);
  return byNode(part, nodes);
}

function endOf(node: NetlabNode, part: Part | undefined, namePart: Part | undefined): NetlabEnd {
  return { node, part, namePart, face: "", addresses: [] };
}

/** "r1-r2", "r1 - r2 - r3"; names may contain hyphens, so that the longest known names count. */
function shortEnds(part: Part, nodes: Nodes): NetlabEnd[] | undefined {
  const words = (part.text ?? "").split("-").map((word) => word.trim());
  if (words.length > 1000) return undefined;
  const ends: NetlabEnd[] = [];
  for (let at = 0; at < words.length; ) {
    let count = Math.min(8, words.length - at);
    while (count > 0 && !nodes.has(words.slice(at, at + count).join("-"))) count--;
    const node = nodes.get(words.slice(at, at + count).join("-"));
    if (node === undefined) return undefined;
    ends.push(endOf(node, undefined, undefined));
    at += count;
  }
  return ends;
}

function listed(items: readonly Part[], nodes: Nodes): NetlabEnd[] | undefined {
  const ends = items.flatMap((item): (NetlabEnd | undefined)[] => {
    if (item.text !== undefined) {
      const node = nodes.get(item.text);
      return [node && endOf(node, undefined, item)];
    }
    const name = item.get("node");
    const node = nodes.get(name?.text ?? "");
    if (name !== undefined) return [node && endOf(node, item, name)];
    return byNode(item, nodes);
  });
  return ends.every((end) => end !== undefined) ? ends : undefined;
}

function byNode(part: Part, nodes: Nodes): NetlabEnd[] {
  return part.entries.flatMap(([key, value]) => {
    const node = nodes.get(key);
    if (node === undefined) return [];
    return [endOf(node, value.node.kind === "map" ? value : undefined, value.node.kind === "scalar" ? value : undefined)];
  });
}
