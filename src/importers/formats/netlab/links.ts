import type { Part } from "../../tree/part.ts";
import { refuse } from "../../tree/refuse.ts";
import { deep } from "./deep.ts";
import { fabricNames, fabricPart } from "./names.ts";
import type { NetlabNode, NetlabNodes } from "./nodes.ts";

export interface NetlabEnd {
  readonly node: NetlabNode;
  /** The attributes of the interface. */
  readonly part: Part | undefined;
  /** Names the node in the topology. */
  readonly namePart: Part | undefined;
  /** The interface of the link, chosen when the link is written. */
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
  /** The VLAN among whose links it is. */
  readonly vlan?: string;
}

type Nodes = Pick<ReadonlyMap<string, NetlabNode>, "get" | "has">;

const maxLinks = 50_000;
const maxDepth = 16;

/** Reads all forms of links: texts, lists of nodes, maps by node, lists of interfaces, groups of links, links by group, and aggregated links. */
export function readLinks(root: Part, { nodes, inside }: NetlabNodes): readonly NetlabLink[] {
  const links: NetlabLink[] = [];
  const add = (part: Part, of: Nodes, around: readonly Part[] = []): void => {
    if (links.length >= maxLinks || around.length > maxDepth)
      refuse(around.length > maxDepth ? "groups of links are nested too deep" : `more than ${maxLinks} links`);
    const members = part.get("group") === undefined ? deep(part, "lag", "members") : part.get("members");
    if (members !== undefined) {
      part.get("group")?.mapped("the links of the group");
      for (const member of members.all) add(member, of, [part, ...around]);
      return;
    }
    const link = readLink(part, around, of);
    if (link !== undefined) links.push(link);
  };
  const addAll = (list: Part | undefined, of: Nodes): void => {
    const parts = list?.node.kind === "map" ? list.entries.flatMap(([, group]) => linksOfGroup(group, of)) : (list?.all ?? []);
    for (const part of parts) add(part, of);
  };
  addFabric(root, nodes, links);
  addAll(root.get("links"), nodes);
  for (const [, vrf] of root.get("vrfs")?.entries ?? []) addAll(vrf.get("links"), nodes);
  for (const [vlan, each] of root.get("vlans")?.entries ?? []) {
    const first = links.length;
    addAll(each.get("links"), nodes);
    for (const [at, link] of links.entries()) if (at >= first) links[at] = { ...link, vlan };
  }
  for (const { prefix, links: list } of inside)
    addAll(list, { get: (name) => nodes.get(prefix + name), has: (name) => nodes.has(prefix + name) });
  return links;
}

/** Each leaf of a fabric is linked with each spine. */
function addFabric(root: Part, nodes: Nodes, links: NetlabLink[]): void {
  const fabric = fabricPart(root);
  if (fabric === undefined) return;
  const side = (which: "spine" | "leaf") => fabricNames(root, which).flatMap((name) => nodes.get(name) ?? []);
  const spines = side("spine");
  for (const leaf of side("leaf")) {
    for (const spine of spines)
      links.push({
        ends: [endOf(leaf, undefined, undefined), endOf(spine, undefined, undefined)],
        parts: [fabric],
        type: "p2p",
        prefixes: [],
      });
  }
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
    part.dropped("a tunnel is not a link: its routers make it");
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
