import { formatSeparator, interfaceNaming } from "../../../base/names/interface-names.ts";
import { Failure } from "../../../contract/errors.ts";
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
  return new Edit(start, known, template);
}

class Edit implements DefinitionEdit {
  readonly #start: LabDefinition;
  readonly #template: (id: string) => LocalTemplate | undefined;
  readonly #nodes: NamedObjects<DefinedNode>;
  readonly #networks: NamedObjects<DefinedNetwork>;
  readonly #links: PlacedLinks;
  readonly #linkIds: Map<string, string>;
  readonly #next: { -readonly [Kind in keyof LabDefinition["next"]]: number };
  /** Changed fields of the lab itself. */
  #lab: Partial<LabDefinition> = {};
  #management: LabDefinition["management"] | undefined;

  constructor(start: LabDefinition, known: NativeIds, template: (id: string) => LocalTemplate | undefined) {
    this.#start = start;
    this.#management = start.management;
    this.#template = template;
    this.#nodes = new NamedObjects(start.nodes, known.nodes);
    this.#networks = new NamedObjects(start.networks, known.networks);
    this.#links = new PlacedLinks(start.links);
    this.#linkIds = new Map(Object.entries(known.links));
    this.#next = { ...start.next };
  }

  step(step: Step): void {
    switch (step.do) {
      case "update-lab":
        this.#putLab(step);
        return;
      case "create-network":
      case "update-network":
        this.#putNetwork(step.network);
        return;
      case "delete-network":
        this.#deleteNetwork(step.network);
        return;
      case "create-node":
      case "update-node":
        this.#putNode(step.node);
        return;
      case "delete-node":
        this.#deleteNode(step.node);
        return;
      case "create-link":
      case "update-link":
        this.#putLink(step.link);
        return;
      case "delete-link":
        this.#deleteLink(step.link);
        return;
      default:
        throw new Error(`step ${step.do} does not edit a definition`);
    }
  }

  power(id: number, power: DefinedNode["power"], bootId?: string): void {
    const node = this.#nodes.get(id);
    if (node === undefined) return;
    const { forced: _before, ...rest } = node;
    this.#nodes.set({ ...rest, power, ...(bootId !== undefined && { bootId }) });
  }

  nodeId(key: string): number | undefined {
    return this.#nodes.find(key);
  }

  result(): LabDefinition {
    const { description, management: _before, ...rest } = { ...this.#start, ...this.#lab };
    const management = this.#management;
    return {
      ...rest,
      ...(description === undefined || description === "" ? {} : { description }),
      ...(management === undefined ? {} : { management }),
      next: this.#next,
      nodes: [...this.#nodes.values()].sort(byId),
      networks: [...this.#networks.values()].sort(byId),
      links: [...this.#links.values()].sort(byId),
    };
  }

  ids(): NativeIds {
    return {
      nodes: existing(this.#nodes.keys, this.#nodes),
      networks: existing(this.#networks.keys, this.#networks),
      links: existing(this.#linkIds, this.#links),
    };
  }

  #putLab({ do: _do, management, ...fields }: Extract<Step, { readonly do: "update-lab" }>): void {
    this.#lab = { ...this.#lab, ...fields };
    if (management !== undefined) this.#management = management ?? undefined;
  }

  #putNode(wanted: LabNode): void {
    const nodes = this.#nodes;
    const id = nodes.find(wanted.key, wanted.name) ?? this.#keptDisk(wanted.name) ?? this.#next.node++;
    const found = this.#template(wanted.template);
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
    for (const link of this.#links.atNode(id)) for (const end of link.endpoints) if ("node" in end && end.node === id) this.#growFor(end);
    nodes.join(wanted.key, id);
  }

  #keptDisk(name: string): number | undefined {
    const { disks } = this.#start;
    const id = disks !== undefined && Object.hasOwn(disks, name) ? disks[name] : undefined;
    return id === undefined || this.#nodes.has(id) || id >= this.#next.node ? undefined : id;
  }

  #deleteNode(key: string): void {
    const id = this.#nodes.find(key);
    if (id !== undefined) {
      this.#nodes.delete(id);
      for (const link of this.#links.atNode(id)) this.#links.delete(link.id);
    }
    this.#nodes.join(key, undefined);
  }

  #putNetwork(wanted: LabNetwork): void {
    const id = this.#networks.find(wanted.key, wanted.name) ?? this.#next.network++;
    this.#networks.set(definedNetwork(id, wanted));
    this.#networks.join(wanted.key, id);
  }

  #deleteNetwork(key: string): void {
    const id = this.#networks.find(key);
    if (id !== undefined) {
      this.#networks.delete(id);
      for (const link of this.#links.at({ network: id })) this.#links.delete(link.id);
    }
    this.#networks.join(key, undefined);
  }

  #putLink(wanted: LabLink): void {
    const links = this.#links;
    const endpoints = [this.#endpoint(wanted, wanted.endpoints[0]), this.#endpoint(wanted, wanted.endpoints[1])] as const;
    // Searches at an interface, which has few links: a network may have thousands.
    const placed = [this.#asPlaced(endpoints[0]), this.#asPlaced(endpoints[1])] as const;
    const [a, b] = "node" in placed[0] ? placed : [placed[1], placed[0]];
    const word = endpointWord(b);
    if (endpointWord(a) === word) throw refused("interface_taken", `link ${wanted.key}: both ends are the same`);
    const same = links.at(a).find((other) => other.endpoints.some((end) => endpointWord(end) === word));
    for (const one of placed) {
      if ("node" in one && links.at(one).some((other) => other.id !== same?.id)) {
        throw refused("interface_taken", `link ${wanted.key}: one of its interfaces has another link`);
      }
    }
    const id = same?.id ?? this.#next.link++;
    for (const one of endpoints) this.#growFor(one);
    links.set(definedLink(id, wanted, endpoints));
    this.#linkIds.set(wanted.key, String(id));
  }

  #endpoint(of: LabLink, one: Endpoint): DefinedEndpoint {
    if ("network" in one) {
      const network = this.#networks.find(one.network);
      if (network === undefined) throw refused("network_unknown", `link ${of.key}: the lab has no network ${one.network}`);
      return { network };
    }
    const node = this.#nodes.get(this.#nodes.find(one.node) ?? -1);
    if (node === undefined) throw refused("node_unknown", `link ${of.key}: the lab has no node ${one.node}`);
    const template = this.#template(node.template);
    const index = interfaceNaming(template?.ethFormat ?? "eth{0}").index(one.interface);
    if (index === undefined) throw refused("interface_unknown", `link ${of.key}: ${one.node} cannot have an interface ${one.interface}`);
    const max = template?.maxInterfaces ?? 0;
    if (index >= max)
      throw refused("too_many_interfaces", `link ${of.key}: ${one.interface} is beyond the ${max} interfaces of ${one.node}`);
    return { node: node.id, interface: one.interface };
  }

  /** Returns the end as a link of the definition calls its interface, if that is another of its names. */
  #asPlaced(end: DefinedEndpoint): DefinedEndpoint {
    if (!("node" in end)) return end;
    const format = this.#template(this.#nodes.get(end.node)?.template ?? "")?.ethFormat ?? "";
    if (!format.includes(formatSeparator) || this.#links.at(end).length > 0) return end;
    const naming = interfaceNaming(format);
    const index = naming.index(end.interface);
    const others = this.#links.atNode(end.node).flatMap(({ endpoints }) => endpoints);
    return others.find((one) => "node" in one && one.node === end.node && naming.index(one.interface) === index) ?? end;
  }

  /** Gives the node at least the interfaces that its links need. */
  #growFor(end: DefinedEndpoint): void {
    const node = "node" in end ? this.#nodes.get(end.node) : undefined;
    if (node === undefined || !("node" in end)) return;
    const index = interfaceNaming(this.#template(node.template)?.ethFormat ?? "eth{0}").index(end.interface) ?? 0;
    if (index >= node.ethernet) this.#nodes.set({ ...node, ethernet: index + 1 });
  }

  #deleteLink(key: string): void {
    const id = this.#linkIds.has(key) ? Number(this.#linkIds.get(key)) : this.#linkOf(key);
    if (id !== undefined) this.#links.delete(id);
    this.#linkIds.delete(key);
  }

  /** Finds a link by the keys of its ends. A link that an interrupted apply made has no known id. */
  #linkOf(key: string): number | undefined {
    const words = new Map([...this.#nodes.keys].map(([node, id]) => [Number(id), node]));
    const names = new Map([...this.#networks.keys].map(([network, id]) => [Number(id), network]));
    const end = (one: DefinedEndpoint): Endpoint =>
      "node" in one ? { node: words.get(one.node) ?? "", interface: one.interface } : { network: names.get(one.network) ?? "" };
    for (const link of this.#links.values()) if (linkKey(end(link.endpoints[0]), end(link.endpoints[1])) === key) return link.id;
    return undefined;
  }
}

function definedNode(id: number, node: LabNode, ethernet: number, before: DefinedNode | undefined): DefinedNode {
  const { key: _key, startupConfigFile: _file, fileSources: _sources, ...rest } = node;
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
