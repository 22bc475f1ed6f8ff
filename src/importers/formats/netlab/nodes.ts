import type { Draft } from "../../draft/draft.ts";
import { DraftNode } from "../../draft/draft-node.ts";
import { chooseTemplate } from "../../mapping/choose-template.ts";
import type { ReadOptions } from "../../reading/importer.ts";
import { ownValue } from "../../tree/own-value.ts";
import type { Part } from "../../tree/part.ts";
import { refuse } from "../../tree/refuse.ts";
import { deep, firstOf } from "./deep.ts";
import { fabricGroups, fabricValue, type Named, namesOf, type PartLinks } from "./names.ts";

/** Modules that become a part of FRR's configuration here. */
export const modules: ReadonlySet<string> = new Set(["ospf", "bgp", "isis"]);

export interface NetlabNode {
  readonly name: string;
  /** The node of the lab; undefined if the type is a network here. */
  readonly node: DraftNode | undefined;
  /** Its entry in the topology. */
  readonly part: Part | undefined;
  /** Its groups, the nearest first: their values are inherited. */
  readonly groups: readonly Part[];
  readonly id: number;
  readonly isHost: boolean;
  readonly modules: ReadonlySet<string>;
}

/** Images that netlab starts for its devices. */
const usualImages: Readonly<Record<string, string>> = {
  "clab:eos": "ceos:latest",
  "clab:srlinux": "ghcr.io/nokia/srlinux:latest",
  srlinux: "ghcr.io/nokia/srlinux:latest",
  "clab:cumulus": "networkop/cx:latest",
  "clab:cumulus_nvue": "networkop/cx:latest",
  "clab:vyos": "vyos:latest",
};

const maxNodes = 10_000;

/** The nodes of a topology by name, and the links of its components. */
export interface NetlabNodes {
  readonly nodes: ReadonlyMap<string, NetlabNode>;
  readonly inside: readonly PartLinks[];
}

export function readNodes(draft: Draft, root: Part, options: ReadOptions): NetlabNodes {
  const { named: given, inside } = namesOf(root);
  const named = [...given];
  const known = new Set(named.map(({ name }) => name));
  const members = groupsOf(root, known);
  for (const [group, { part, nodes }] of members) {
    const create = part.get("_auto_create") ?? deep(root, "groups", "_auto_create");
    if (create?.boolean !== true) continue;
    for (const name of nodes) {
      if (known.has(name) || members.has(name)) continue;
      known.add(name);
      named.push({ name, part: undefined, namePart: undefined, around: [] });
    }
    create.mapped(`nodes of the group ${group}`);
  }
  if (named.length > maxNodes) refuse(`more than ${maxNodes} nodes`);
  const ids = idsOf(named);
  const clab = root.get("provider")?.text === "clab";
  const groupsOfNode = new Map<string, Part[]>();
  for (const { part, nodes: names } of members.values())
    for (const name of names) groupsOfNode.set(name, [...(groupsOfNode.get(name) ?? []), part]);
  const nodes = new Map<string, NetlabNode>();
  for (const { name, part, namePart, around } of named) {
    if (nodes.has(name)) continue;
    part?.open();
    const groups = [...around, ...(groupsOfNode.get(name) ?? [])];
    const sources = [part, ...groups];
    const device = firstOf([
      ...sources.map((each) => deep(each, "device")),
      ...groups.map((group) => deep(group, "node_data", "device")),
      ...fabricDevice(root, name),
      deep(root, "defaults", "device"),
    ]);
    const provider = firstOf(sources.map((each) => deep(each, "provider")))?.text;
    const isClab = provider === undefined ? clab : provider === "clab";
    const word = device?.text ?? "frr";
    const image = firstOf([
      ...sources.flatMap((each) => [deep(each, "clab", "image"), deep(each, "image")]),
      ...(isClab ? [deep(root, "defaults", "devices", word, "clab", "image")] : []),
      deep(root, "defaults", "devices", word, "image"),
    ]);
    const role = firstOf(sources.map((each) => deep(each, "role")));
    const type = role?.text === "bridge" ? "ovs" : isClab ? `clab:${word}` : word;
    const choice = chooseTemplate(options, "netlab", type, image?.text ?? ownValue(usualImages, type));
    const place = draft.place(name, choice, { name: namePart, type: device, image });
    role?.mapped(role.text === "bridge" ? "a switch" : "addresses and routes");
    const own = firstOf([...sources.map((each) => deep(each, "module"))]);
    for (const item of own?.all ?? []) markModule(item, place instanceof DraftNode ? place.template : "");
    nodes.set(name, {
      name,
      node: place instanceof DraftNode ? place : undefined,
      part,
      groups,
      id: ids.get(name) ?? 1,
      isHost: role?.text === "host" || /(^|:)(linux|dnsmasq|haproxy)$/.test(type),
      modules: new Set(((own ?? root.get("module"))?.all ?? []).map(({ text = "" }) => text)),
    });
    if (place instanceof DraftNode) readSettings(place, part);
  }
  return { nodes, inside };
}

/** The device of a side of the fabric, if the node is in it. */
function fabricDevice(root: Part, name: string): readonly (Part | undefined)[] {
  return [fabricValue(root, name, "device")?.part];
}

function readSettings(node: DraftNode, part: Part | undefined): void {
  if (part === undefined) return;
  const [id, mtu, name] = [part.get("id"), part.get("mtu"), part.get("name")];
  id?.mapped("its addresses");
  mtu?.dropped("an MTU belongs to a link");
  if (name?.text === node.key) name.kept();
  const isOwn = node.machine !== undefined;
  const [memory, cpu] = [part.get("memory"), part.get("cpu")];
  if (isOwn && memory?.number !== undefined && memory.number >= 1) node.set("ram", Math.floor(memory.number), memory);
  else memory?.dropped("the size of other software");
  if (isOwn && cpu?.number !== undefined && cpu.number >= 1) node.set("cpu", cpu.number, cpu);
  else cpu?.dropped("the size of other software");
  for (const key of ["interfaces", "af", "box", "hostname", "ansible_host", "mgmt", "loopback", "libvirt", "clab", "netlab_device_type"])
    part.get(key)?.dropped(key === "interfaces" ? "the links have them" : "netlab's own data");
  for (const config of part.get("config")?.all ?? []) config.dropped("a template of Ansible: netlab create makes the configuration of it");
}

/** Marks a module of a node, of its groups or of the topology. */
export function markModule(item: Part, template: string): void {
  if (modules.has(item.text ?? "") && template === "frr") item.mapped("in the configurations of template frr");
  else item.dropped(`the module ${item.text ?? ""} is not configured: netlab create makes its configurations`);
}

interface Group {
  readonly part: Part;
  readonly nodes: Set<string>;
}

/** Returns the groups with all nodes in them, also of the groups in them. */
function groupsOf(root: Part, known: ReadonlySet<string>): ReadonlyMap<string, Group> {
  const direct = new Map<string, { readonly part: Part; readonly names: readonly string[] }>();
  for (const [name, part] of root.get("groups")?.entries ?? []) {
    if (name.startsWith("_")) continue;
    const list = part.node.kind === "map" ? part.get("members") : part;
    const names = (list?.all ?? []).flatMap((each) => each.text?.split(",").map((word) => word.trim()) ?? []);
    if (part.node.kind === "map" || names.length > 0) direct.set(name, { part, names });
    for (const each of list?.all ?? []) each.mapped(`values of the group ${name}`);
  }
  for (const { group, part, names } of fabricGroups(root)) {
    const found = direct.get(group);
    direct.set(group, { part: found?.part ?? part, names: [...(found?.names ?? []), ...names] });
  }
  const groups = new Map<string, Group>();
  for (const [name, { part }] of direct) {
    const nodes = new Set<string>();
    const seen = new Set<string>();
    const open = [name];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      for (const member of direct.get(next)?.names ?? []) {
        if (direct.has(member) && !known.has(member)) open.push(member);
        else nodes.add(member);
      }
    }
    groups.set(name, { part, nodes });
  }
  return groups;
}

/** Numbers the nodes as netlab does: the ids that they have, and the free ones in their order. */
function idsOf(named: readonly Named[]): ReadonlyMap<string, number> {
  const given = new Map(
    named.flatMap(({ name, part }) => {
      const id = part?.get("id")?.number;
      return id !== undefined && Number.isInteger(id) && id >= 1 && id <= 65_535 ? [[name, id] as const] : [];
    }),
  );
  const taken = new Set(given.values());
  const ids = new Map(given);
  let next = 1;
  for (const { name } of named) {
    if (ids.has(name)) continue;
    while (taken.has(next)) next++;
    taken.add(next);
    ids.set(name, next);
  }
  return ids;
}
