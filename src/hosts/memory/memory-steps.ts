import { interfaceNaming } from "../../base/names/interface-names.ts";
import { Failure } from "../../contract/errors.ts";
import type { ObservedEndpoint, ObservedLink, ObservedNetwork } from "../../engine/model/observed.ts";
import type { Step, StopMode } from "../../engine/model/plan.ts";
import { sameValue } from "../../engine/shared/canonical.ts";
import { type Endpoint, type LabLink, type LabNetwork, type LabNode, linkKey } from "../../intent/lab/lab.ts";
import type { NativeIds } from "../host.ts";
import { echoShell } from "./echo-shell.ts";
import { dropLink, endpointWord, linksAt, linkWord, type MemoryLab, type MemoryNode, putLink } from "./memory-lab.ts";
import type { MemoryTemplate } from "./memory-template.ts";

export interface StepWorld {
  readonly template: (id: string) => MemoryTemplate | undefined;
  readonly now: () => number;
}

/** Intent key → native id, as it changes while steps run. */
export interface IdMaps {
  readonly nodes: Map<string, string>;
  readonly networks: Map<string, string>;
  readonly links: Map<string, string>;
}

export function idMaps(ids: NativeIds): IdMaps {
  const map = (record: Readonly<Record<string, string>>) => new Map(Object.entries(record));
  return { nodes: map(ids.nodes), networks: map(ids.networks), links: map(ids.links) };
}

/**
 * Runs one step on an existing lab. Idempotent, but strict: it refuses steps that a real host could not do, so that a plan in the wrong order already
 * fails here.
 * @throws Failure host_error
 */
export function runStep(lab: MemoryLab, ids: IdMaps, step: Step, world: StepWorld): void {
  switch (step.do) {
    case "update-lab":
      if (step.name !== undefined) lab.name = step.name;
      if (step.description !== undefined) lab.description = step.description === "" ? undefined : step.description;
      if (step.management !== undefined) lab.management = step.management ?? undefined;
      if (step.texts !== undefined) lab.texts = step.texts;
      if (step.trafficFilters !== undefined) lab.trafficFilters = step.trafficFilters;
      return;
    case "create-network":
    case "update-network":
      putNetwork(lab, ids, step.network);
      return;
    case "delete-network":
      deleteNetwork(lab, ids, step.network);
      return;
    case "create-node":
      createNode(lab, ids, step.node, world);
      return;
    case "update-node":
      updateNode(lab, ids, step.node, step.fields, world);
      return;
    case "delete-node":
      deleteNode(lab, ids, step.node);
      return;
    case "create-link":
      createLink(lab, ids, step.link, world);
      return;
    case "update-link":
      updateLink(lab, ids, step.link, step.fields, world);
      return;
    case "delete-link":
      deleteLink(lab, ids, step.link, world);
      return;
    case "start":
      startNode(nodeOf(lab, ids, step.node), world);
      return;
    case "stop": {
      // A node that is gone is as stopped as can be: a list of steps that deletes it may run again.
      const node = lab.nodes.get(goingNode(lab, ids, step.node) ?? "");
      if (node !== undefined) stopNode(lab, node, step.mode);
      return;
    }
    case "wipe": {
      const node = lab.nodes.get(goingNode(lab, ids, step.node) ?? "");
      if (node === undefined) return;
      // Its disk goes with all that runs from it.
      stopNode(lab, node, 1);
      return;
    }
    default:
      throw new Error(`${step.do} is not a step inside a lab`);
  }
}

export function isUp(node: MemoryNode): boolean {
  return node.power === "running" || node.power === "starting";
}

function putNetwork(lab: MemoryLab, ids: IdMaps, wanted: LabNetwork): void {
  const id = findNetwork(lab, ids, wanted.key, wanted.name) ?? String(lab.nextId++);
  const { key, ...rest } = wanted;
  const before = lab.networks.get(id);
  if (before !== undefined && before.type !== wanted.type && linksAt(lab, { networkId: id }).length > 0) {
    throw refused("network_in_use", `network ${key} has links: its type cannot change`);
  }
  lab.networks.set(id, { ...rest, id } satisfies ObservedNetwork);
  ids.networks.set(key, id);
}

function deleteNetwork(lab: MemoryLab, ids: IdMaps, key: string): void {
  const id = ids.networks.has(key) ? ids.networks.get(key) : findNetwork(lab, ids, key, key);
  if (id !== undefined && lab.networks.has(id)) {
    if (linksAt(lab, { networkId: id }).length > 0) throw refused("network_in_use", `network ${key} still has links`);
    lab.networks.delete(id);
  }
  ids.networks.delete(key);
}

function createNode(lab: MemoryLab, ids: IdMaps, wanted: LabNode, world: StepWorld): void {
  const id = findNode(lab, ids, wanted.key, wanted.name);
  const existing = lab.nodes.get(id ?? "");
  if (existing === undefined) {
    const made = String(lab.nextId++);
    lab.nodes.set(made, { definition: definition(made, wanted, 0, world), power: "stopped", shell: undefined, lastLog: "", startedAt: 0 });
    ids.nodes.set(wanted.key, made);
    return;
  }
  ids.nodes.set(wanted.key, existing.definition.id);
  existing.definition = definition(existing.definition.id, wanted, existing.definition.ethernet, world);
}

function updateNode(lab: MemoryLab, ids: IdMaps, wanted: LabNode, fields: readonly string[], world: StepWorld): void {
  const node = nodeOf(lab, ids, wanted.key);
  const template = world.template(node.definition.template);
  const whole = definition(node.definition.id, wanted, node.definition.ethernet, world);
  for (const field of fields) {
    // A request for the current state is accepted.
    if (sameValue(node.definition[field as keyof typeof whole], whole[field as keyof typeof whole])) continue;
    const rule = template?.fields[field] ?? "live";
    if (rule === "unsupported") throw refused("unsupported_field", `node ${wanted.key}: template ${template?.id} has no ${field}`);
    if (rule === "recreate") throw refused("cannot_change", `node ${wanted.key}: ${field} cannot change once it is made`);
    if (rule === "restart" && isUp(node)) throw refused("node_running", `node ${wanted.key} runs: ${field} cannot change`);
  }
  if (whole.template !== node.definition.template) throw refused("cannot_change", `node ${wanted.key}: its template cannot change`);
  if (fields.includes("ethernet")) {
    const naming = interfaceNaming(template?.ethFormat ?? "");
    for (const link of lab.links.values()) {
      for (const end of link.endpoints) {
        if ("nodeId" in end && end.nodeId === whole.id && (naming.index(end.interface) ?? 0) >= whole.ethernet) {
          throw refused("interface_in_use", `node ${wanted.key}: ${end.interface} still has a link`);
        }
      }
    }
  }
  // Only the named fields: a step that names fewer fields than it changes is a defect, which must be visible.
  const changed: Record<string, unknown> = { ...node.definition };
  for (const field of fields) {
    const value = (whole as Readonly<Record<string, unknown>>)[field];
    if (value === undefined) delete changed[field];
    else changed[field] = value;
  }
  node.definition = changed as unknown as MemoryNode["definition"];
  ids.nodes.set(wanted.key, node.definition.id);
}

function definition(id: string, wanted: LabNode, ethernet: number, world: StepWorld): MemoryNode["definition"] {
  const template = world.template(wanted.template);
  if (template === undefined) throw refused("unknown_template", `node ${wanted.key}: no template ${wanted.template}`);
  const { key, startupConfigFile: _file, fileSources: _sources, ...rest } = wanted;
  const known = template.fields.image === "unsupported" || template.images.some(({ name }) => name === wanted.image);
  if (!known) throw refused("unknown_image", `node ${key}: template ${template.id} has no image ${wanted.image}`);
  const count = wanted.ethernet ?? ethernet;
  if (count > template.maxInterfaces) throw refused("too_many_interfaces", `node ${key}: at most ${template.maxInterfaces} interfaces`);
  return { ...structuredClone(rest), id, ethernet: count };
}

function deleteNode(lab: MemoryLab, ids: IdMaps, key: string): void {
  const id = goingNode(lab, ids, key);
  const node = lab.nodes.get(id ?? "");
  if (id !== undefined && node !== undefined) {
    if (isUp(node)) throw refused("node_running", `node ${key} runs: stop it before it is deleted`);
    for (const link of lab.links.values()) {
      if (link.endpoints.some((end) => "nodeId" in end && end.nodeId === id)) throw refused("node_in_use", `node ${key} still has links`);
    }
    node.shell?.close();
    lab.nodes.delete(id);
  }
  ids.nodes.delete(key);
}

function createLink(lab: MemoryLab, ids: IdMaps, wanted: LabLink, world: StepWorld): void {
  const endpoints = [nativeEnd(lab, ids, wanted.endpoints[0]), nativeEnd(lab, ids, wanted.endpoints[1])] as const;
  const word = linkWord(endpoints);
  const same = linksAt(lab, endpoints[0]).find((link) => linkWord(link.endpoints) === word);
  const id = same?.id ?? String(lab.nextId++);
  if (same === undefined) {
    if (endpointWord(endpoints[0]) === endpointWord(endpoints[1]))
      throw refused("interface_taken", `link ${wanted.key}: both ends are the same`);
    for (const end of endpoints) {
      if ("nodeId" in end && linksAt(lab, end).length > 0)
        throw refused("interface_taken", `link ${wanted.key}: ${endpointWord(end)} has another link`);
      needStill(lab, end, world, `link ${wanted.key}`);
      growFor(lab, end, world, wanted.key);
    }
  }
  putLink(lab, nativeLink(id, wanted, endpoints));
  ids.links.set(wanted.key, id);
}

function updateLink(lab: MemoryLab, ids: IdMaps, wanted: LabLink, fields: readonly string[], world: StepWorld): void {
  const id = findLink(lab, ids, wanted.key);
  if (id === undefined) throw refused("unknown_link", `no link ${wanted.key}`);
  const endpoints = [nativeEnd(lab, ids, wanted.endpoints[0]), nativeEnd(lab, ids, wanted.endpoints[1])] as const;
  if (fields.includes("mtu")) for (const end of endpoints) needStill(lab, end, world, `link ${wanted.key}`);
  const before = lab.links.get(id);
  if (before === undefined || linkWord(before.endpoints) !== linkWord(endpoints))
    throw refused("unknown_link", `link ${wanted.key} has other ends`);
  putLink(lab, nativeLink(id, wanted, endpoints));
  ids.links.set(wanted.key, id);
}

function deleteLink(lab: MemoryLab, ids: IdMaps, key: string, world: StepWorld): void {
  const id = ids.links.has(key) ? ids.links.get(key) : findLink(lab, ids, key);
  const link = lab.links.get(id ?? "");
  if (id !== undefined && link !== undefined) {
    for (const end of link.endpoints) needStill(lab, end, world, `link ${key}`);
    dropLink(lab, link);
  }
  ids.links.delete(key);
}

function startNode(node: MemoryNode, world: StepWorld): void {
  if (isUp(node)) return;
  const template = world.template(node.definition.template);
  if (template?.provisioned === false) throw refused("no_image", `template ${template.id} has no image`);
  node.startedAt = world.now();
  const resumed = node.power === "suspended";
  node.power = "running";
  if (resumed || template?.consoleType === "none") return;
  const shell = echoShell(
    () => node.definition.name.replace(/[^\w.-]+/g, "-"),
    () => shellFacts(node),
  );
  node.shell = shell;
  for (const line of node.definition.exec) shell.run(line);
}

function stopNode(lab: MemoryLab, node: MemoryNode, mode: StopMode): void {
  // A live change of a link lasts until an end of it stops.
  for (const { id, endpoints } of lab.links.values()) {
    if (endpoints.some((end) => "nodeId" in end && end.nodeId === node.definition.id)) lab.liveQuality.delete(id);
  }
  if (mode === 2) {
    if (isUp(node)) node.power = "suspended";
    return;
  }
  node.lastLog = node.shell?.log() ?? node.lastLog;
  node.shell?.close();
  node.shell = undefined;
  node.power = "stopped";
}

function shellFacts(node: MemoryNode): string {
  const { template, ethernet, image } = node.definition;
  return `template ${template}\nimage ${image ?? "none"}\ninterfaces ${ethernet}\n`;
}

/** A running node whose template takes no link changes must be stopped first. */
function needStill(lab: MemoryLab, end: ObservedEndpoint, world: StepWorld, what: string): void {
  const node = "nodeId" in end ? lab.nodes.get(end.nodeId) : undefined;
  if (node === undefined || !isUp(node) || world.template(node.definition.template)?.links === "live") return;
  throw refused("node_running", `${what}: node ${node.definition.name} runs and its template takes no link changes`);
}

function growFor(lab: MemoryLab, end: ObservedEndpoint, world: StepWorld, key: string): void {
  const node = "nodeId" in end ? lab.nodes.get(end.nodeId) : undefined;
  if (node === undefined || !("nodeId" in end)) return;
  const template = world.template(node.definition.template);
  const index = interfaceNaming(template?.ethFormat ?? "").index(end.interface);
  if (index === undefined || index >= (template?.maxInterfaces ?? 0)) {
    throw refused("unknown_interface", `link ${key}: ${node.definition.name} cannot have an interface ${end.interface}`);
  }
  if (index >= node.definition.ethernet) node.definition = { ...node.definition, ethernet: index + 1 };
}

function nativeLink(id: string, wanted: LabLink, endpoints: ObservedLink["endpoints"]): ObservedLink {
  const { key: _key, endpoints: _ends, ...rest } = wanted;
  return { ...structuredClone(rest), id, endpoints };
}

function nativeEnd(lab: MemoryLab, ids: IdMaps, end: Endpoint): ObservedEndpoint {
  if ("network" in end) {
    const networkId = findNetwork(lab, ids, end.network, end.network);
    if (networkId === undefined) throw refused("unknown_network", `no network ${end.network}`);
    return { networkId };
  }
  return { nodeId: nodeOf(lab, ids, end.node).definition.id, interface: end.interface };
}

function nodeOf(lab: MemoryLab, ids: IdMaps, key: string): MemoryNode {
  const node = lab.nodes.get(findNode(lab, ids, key, key) ?? "");
  if (node === undefined) throw refused("unknown_node", `no node ${key}`);
  return node;
}

/** By the joined id, else by its ends in intent words: the ids of a run that was cut off are not known to the next. */
function findLink(lab: MemoryLab, ids: IdMaps, key: string): string | undefined {
  const joined = ids.links.get(key);
  if (joined !== undefined && lab.links.has(joined)) return joined;
  const nodes = new Map([...ids.nodes].map(([node, id]) => [id, node]));
  const networks = new Map([...ids.networks].map(([network, id]) => [id, network]));
  const end = (one: ObservedEndpoint): Endpoint =>
    "nodeId" in one ? { node: nodes.get(one.nodeId) ?? "", interface: one.interface } : { network: networks.get(one.networkId) ?? "" };
  for (const link of lab.links.values()) if (linkKey(end(link.endpoints[0]), end(link.endpoints[1])) === key) return link.id;
  return undefined;
}

function findNetwork(lab: MemoryLab, ids: IdMaps, key: string, name: string): string | undefined {
  return find(lab.networks, ids.networks, key, (network) => network.name === name);
}

function findNode(lab: MemoryLab, ids: IdMaps, key: string, name: string): string | undefined {
  return find(lab.nodes, ids.nodes, key, (node) => node.definition.name === name);
}

/** For steps that take away: where the key has an id, only that one, so that running the steps again spares what was made since. */
function goingNode(lab: MemoryLab, ids: IdMaps, key: string): string | undefined {
  return ids.nodes.has(key) ? ids.nodes.get(key) : findNode(lab, ids, key, key);
}

/** The id that the key stands for: the joined one, else that of an object of this name which no other key stands for. */
function find<T>(
  objects: ReadonlyMap<string, T>,
  ids: ReadonlyMap<string, string>,
  key: string,
  fits: (object: T) => boolean,
): string | undefined {
  const joined = ids.get(key);
  if (joined !== undefined && objects.has(joined)) return joined;
  for (const [id, object] of objects) if (fits(object) && ![...ids.values()].includes(id)) return id;
  return undefined;
}

function refused(code: string, message: string): Failure {
  return new Failure("host_error", message, { data: { host: { code, message } } });
}
