import { Failure } from "../../../contract/errors.ts";
import { interfaceNaming } from "../../../engine/model/interface-names.ts";
import type { Step } from "../../../engine/model/plan.ts";
import { type Endpoint, type LabLink, type LabNetwork, type LabNode, linkKey } from "../../../intent/lab/lab.ts";
import type { NativeIds } from "../../host.ts";
import type { LocalTemplate } from "../templates/template.ts";
import { vmOf } from "../templates/vm-template.ts";
import type { DefinedEndpoint, DefinedLink, DefinedNetwork, DefinedNode, LabDefinition } from "./definition.ts";
import { NamedObjects } from "./named-objects.ts";
import { endpointWord, PlacedLinks } from "./placed-links.ts";

/**
 * A copy of a lab definition that steps change. Every step is idempotent. Nothing is written to disk, and no live part is changed.
 */
export interface DefinitionEdit {
  /** Does any step but create-lab, delete-lab, start, stop and wipe. Throws host_error if the host does not support the result. */
  step(step: Step): void;
  /** Records the power state that a start or stop asks for. */
  power(node: number, power: DefinedNode["power"], bootId?: string): void;
  /** Returns the native id of a node by its key; `undefined` if the lab has no such node. */
  nodeId(key: string): number | undefined;
  result(): LabDefinition;
  ids(): NativeIds;
}

export function editDefinition(
  start: LabDefinition,
  known: NativeIds,
  template: (id: string) => LocalTemplate | undefined,
): DefinitionEdit {
  const nodes = new NamedObjects<DefinedNode>(start.nodes, known.nodes);
  const networks = new NamedObjects<DefinedNetwork>(start.networks, known.networks);
  const links = new PlacedLinks(start.links);
  const linkIds = new Map(Object.entries(known.links));
  const next = { ...start.next };
  let lab: Partial<LabDefinition> = {};

  function keptDisk(name: string): number | undefined {
    const id = start.disks !== undefined && Object.hasOwn(start.disks, name) ? start.disks[name] : undefined;
    return id === undefined || nodes.has(id) || id >= next.node ? undefined : id;
  }

  function putNode(wanted: LabNode): void {
    const id = nodes.find(wanted.key, wanted.name) ?? keptDisk(wanted.name) ?? next.node++;
    const found = template(wanted.template);
    if (found === undefined) throw refused("template_unknown", `node ${wanted.key}: the host has no template ${wanted.template}`);
    const count = wanted.ethernet ?? nodes.get(id)?.ethernet ?? 0;
    if (count > found.maxInterfaces) {
      throw refused(
        "too_many_interfaces",
        `node ${wanted.key}: ${count} interfaces, template ${found.id} has at most ${found.maxInterfaces}`,
      );
    }
    // Refuses settings that no VM can have.
    if (found.backend === "vm") vmOf(found, wanted);
    nodes.set(definedNode(id, wanted, count, nodes.get(id)));
    for (const link of links.atNode(id)) for (const end of link.endpoints) if ("node" in end && end.node === id) growFor(end);
    nodes.join(wanted.key, id);
  }

  function putNetwork(wanted: LabNetwork): void {
    const id = networks.find(wanted.key, wanted.name) ?? next.network++;
    networks.set(definedNetwork(id, wanted));
    networks.join(wanted.key, id);
  }

  function endpoint(of: LabLink, one: Endpoint): DefinedEndpoint {
    if ("network" in one) {
      const network = networks.find(one.network);
      if (network === undefined) throw refused("network_unknown", `link ${of.key}: no network ${one.network}`);
      return { network };
    }
    const node = nodes.get(nodes.find(one.node) ?? -1);
    if (node === undefined) throw refused("node_unknown", `link ${of.key}: no node ${one.node}`);
    const index = interfaceNaming(template(node.template)?.ethFormat ?? "eth{0}").index(one.interface);
    if (index === undefined) throw refused("interface_unknown", `link ${of.key}: ${one.node} cannot have an interface ${one.interface}`);
    const max = template(node.template)?.maxInterfaces ?? 0;
    if (index >= max)
      throw refused("too_many_interfaces", `link ${of.key}: ${one.interface} is beyond the ${max} interfaces of ${one.node}`);
    return { node: node.id, interface: one.interface };
  }

  /** Gives the node at least the interfaces that its links need. */
  function growFor(end: DefinedEndpoint): void {
    const node = "node" in end ? nodes.get(end.node) : undefined;
    if (node === undefined || !("node" in end)) return;
    const index = interfaceNaming(template(node.template)?.ethFormat ?? "eth{0}").index(end.interface) ?? 0;
    if (index >= node.ethernet) nodes.set({ ...node, ethernet: index + 1 });
  }

  function putLink(wanted: LabLink): void {
    const endpoints = [endpoint(wanted, wanted.endpoints[0]), endpoint(wanted, wanted.endpoints[1])] as const;
    // Searches at an interface, which has few links: a network may have thousands.
    const [a, b] = "node" in endpoints[0] ? endpoints : [endpoints[1], endpoints[0]];
    const word = endpointWord(b);
    if (endpointWord(a) === word) throw refused("interface_taken", `link ${wanted.key}: both ends are the same`);
    const same = links.at(a).find((other) => other.endpoints.some((end) => endpointWord(end) === word));
    for (const one of endpoints) {
      if ("node" in one && links.at(one).some((other) => other.id !== same?.id)) {
        throw refused("interface_taken", `link ${wanted.key}: one of its interfaces has another link`);
      }
    }
    const id = same?.id ?? next.link++;
    for (const one of endpoints) growFor(one);
    links.set(definedLink(id, wanted, endpoints));
    linkIds.set(wanted.key, String(id));
  }

  function removeLink(key: string): void {
    const id = linkIds.has(key) ? Number(linkIds.get(key)) : linkOf(key);
    if (id !== undefined) links.delete(id);
    linkIds.delete(key);
  }

  /** Finds a link by the keys of its ends. A link that an interrupted apply made has no known id. */
  function linkOf(key: string): number | undefined {
    const words = new Map([...nodes.keys].map(([node, id]) => [Number(id), node]));
    const names = new Map([...networks.keys].map(([network, id]) => [Number(id), network]));
    const end = (one: DefinedEndpoint): Endpoint =>
      "node" in one ? { node: words.get(one.node) ?? "", interface: one.interface } : { network: names.get(one.network) ?? "" };
    for (const link of links.values()) if (linkKey(end(link.endpoints[0]), end(link.endpoints[1])) === key) return link.id;
    return undefined;
  }

  return {
    step: (step) => {
      switch (step.do) {
        case "update-lab": {
          const { do: _do, ...fields } = step;
          lab = { ...lab, ...fields };
          return;
        }
        case "create-network":
        case "update-network":
          return putNetwork(step.network);
        case "delete-network": {
          const id = networks.find(step.network);
          if (id !== undefined) {
            networks.delete(id);
            for (const link of links.at({ network: id })) links.delete(link.id);
          }
          networks.join(step.network, undefined);
          return;
        }
        case "create-node":
        case "update-node":
          return putNode(step.node);
        case "delete-node": {
          const id = nodes.find(step.node);
          if (id !== undefined) {
            nodes.delete(id);
            for (const link of links.atNode(id)) links.delete(link.id);
          }
          nodes.join(step.node, undefined);
          return;
        }
        case "create-link":
        case "update-link":
          return putLink(step.link);
        case "delete-link":
          return removeLink(step.link);
        default:
          throw new Error(`${step.do} does not change what a lab is`);
      }
    },
    power: (id, power, bootId) => {
      const node = nodes.get(id);
      if (node === undefined) return;
      const { forced: _before, ...rest } = node;
      nodes.set({ ...rest, power, ...(bootId !== undefined && { bootId }) });
    },
    nodeId: (key) => nodes.find(key),
    result: () => {
      const { description, ...rest } = { ...start, ...lab };
      return {
        ...rest,
        ...(description === undefined || description === "" ? {} : { description }),
        next,
        nodes: [...nodes.values()].sort(byId),
        networks: [...networks.values()].sort(byId),
        links: [...links.values()].sort(byId),
      };
    },
    ids: () => ({ nodes: existing(nodes.keys, nodes), networks: existing(networks.keys, networks), links: existing(linkIds, links) }),
  };
}

function definedNode(id: number, node: LabNode, ethernet: number, before: DefinedNode | undefined): DefinedNode {
  const { key: _key, startupConfigFile: _file, ...rest } = node;
  const { power = "stopped", bootId, forced } = before ?? {};
  return { ...rest, id, ethernet, power, ...(bootId !== undefined && { bootId }), ...(forced !== undefined && { forced }) };
}

function definedNetwork(id: number, network: LabNetwork): DefinedNetwork {
  const { key: _key, ...rest } = network;
  return { ...rest, id };
}

function definedLink(id: number, link: LabLink, endpoints: DefinedLink["endpoints"]): DefinedLink {
  const { key: _key, endpoints: _endpoints, ...rest } = link;
  return { ...rest, id, endpoints };
}

/** Returns the keys whose objects exist, sorted. */
function existing(ids: ReadonlyMap<string, string>, objects: { has(id: number): boolean }): Readonly<Record<string, string>> {
  const pairs = [...ids].filter(([, id]) => objects.has(Number(id)));
  return Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function byId(a: { readonly id: number }, b: { readonly id: number }): number {
  return a.id - b.id;
}

function refused(code: string, message: string): Failure {
  return new Failure("host_error", message, { data: { host: { code, message } } });
}
