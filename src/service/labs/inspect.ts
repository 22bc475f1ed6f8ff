import { compareNatural } from "../../base/natural-order.ts";
import { nodeKey } from "../../base/node-key.ts";
import type { InspectedInterface, InspectedLink, InspectedNode, InspectionData, NodeLimitsData } from "../../contract/schemas/observe.ts";
import type { ProjectPayload } from "../../contract/schemas/project.ts";
import { type EndpointKeys, endpointKeys, endpointOf, joinIds, observedLinkKey } from "../../engine/compare/join.ts";
import type { ObservedLab, ObservedLimits, ObservedLink, ObservedNode } from "../../engine/model/observed.ts";
import type { HostRules } from "../../engine/model/plan.ts";
import { maskValues } from "../../engine/show/mask.ts";
import { maskText } from "../../engine/show/secret-words.ts";
import type { LiveLink, LiveNode } from "../../hosts/host.ts";
import { endpointText, managementInterface } from "../../intent/lab/lab.ts";
import type { Caller } from "../common/call.ts";
import { timeText } from "../common/clock.ts";
import { orIfFailed } from "../common/or-if-failed.ts";
import { labNotFound } from "../common/refusals.ts";
import { addressProject } from "../context/address.ts";
import { mayReadSecrets } from "../context/allow.ts";
import { chosenNodes, inspectionOf, refuseUnknown } from "../context/chosen-nodes.ts";
import type { ChangeParts, IdentitiesPart } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import { freePlaces } from "../observe/free-places.ts";
import { ownMachine } from "../placement/own-machine.ts";

/** Returns the structure of a lab. Cached per session until `refresh`, or until the service changes the lab. */
export async function inspectProject(
  context: ChangeParts & IdentitiesPart,
  caller: Caller,
  payload: ProjectPayload,
): Promise<InspectionData> {
  const target = await addressProject(context, caller, payload);
  const inspected = await inspectLab(context, caller, payload, target);
  const shown = withShapes(target, await withAddresses(target, mayReadSecrets(target) ? inspected : withoutSecrets(inspected)));
  const whole = { ...shown, ...ownMachine(context.store) };
  const chosen = chosenNodes(payload);
  if (chosen === undefined) return whole;
  refuseUnknown(chosen, whole.nodes ?? [], target);
  return inspectionOf(whole, chosen);
}

function withoutSecrets(data: InspectionData): InspectionData {
  const { description, nodes, texts } = data;
  return {
    ...data,
    ...(description !== undefined && { description: maskText(description) }),
    nodes: nodes.map((node) => (node.labels === undefined ? node : { ...node, labels: maskValues(node.labels) })),
    texts: texts.map((one) => ({ ...one, text: maskText(one.text) })),
  };
}

/** Adds the shapes of the intent. No host stores them, and an intent is saved without a change of the host, so they are not cached. */
function withShapes({ intent }: Target, data: InspectionData): InspectionData {
  const shapes = intent === undefined ? data.shapes : intent.lab.shapes;
  const { shapes: _host, ...rest } = data;
  return { ...rest, ...(shapes !== undefined && shapes.length > 0 && { shapes }) };
}

/** Adds the addresses of interfaces. They change without a change of the lab, so they are not cached. */
async function withAddresses({ host, path }: Target, data: InspectionData): Promise<InspectionData> {
  // The structure is valid without them.
  const found = await host.addresses?.(path).catch(orIfFailed(undefined));
  if (found === undefined || found.size === 0) return data;
  const nodes = data.nodes.map((node) => {
    const of = found.get(node.id);
    if (of === undefined) return node;
    const interfaces = node.interfaces.map((one) => {
      const addresses = of.get(one.name);
      return addresses === undefined ? one : { ...one, addresses };
    });
    const [management, management6] = of.get(managementInterface) ?? [];
    const own = { ...(management !== undefined && { management }), ...(management6 !== undefined && { management_ipv6: management6 }) };
    return { ...node, ...own, interfaces };
  });
  return { ...data, nodes };
}

async function inspectLab(
  context: ChangeParts & IdentitiesPart,
  caller: Caller,
  payload: ProjectPayload,
  target: Target,
): Promise<InspectionData> {
  const key = `${caller.session} ${target.path}`;
  // Forgets the snapshot if another lab has taken the path.
  await context.identities.look(target.path);
  const kept = payload.refresh === true ? undefined : context.inspections.get(key);
  // The caller's intent or state may name other keys than the cached snapshot.
  const recorded = !target.sent && (payload.state === undefined || payload.state === null);
  if (kept !== undefined && recorded) return { ...kept, mode: target.mode, cached: true };
  const at = context.clock.now();
  const changes = context.observations.changes(target.path);
  const [rules, observed] = await Promise.all([target.host.rules(), target.host.observe(target.path)]);
  if (observed === null) throw labNotFound(target.path);
  // Only impairments come from the live read. The structure is valid without it.
  const live = await target.host.status(target.path).catch(orIfFailed(undefined));
  const data = withMachines(inspection(target, observed, rules, live?.links ?? [], timeText(at)), live?.nodes ?? []);
  // Not cached: an answer without the live data, and an answer that was read during a change. The change clears the cache only once, at its end.
  if (recorded && live !== undefined && context.observations.changes(target.path) === changes) context.inspections.set(key, data);
  return data;
}

/** Adds the machines of the nodes, of a lab that is spread over several. */
function withMachines(data: InspectionData, live: readonly LiveNode[]): InspectionData {
  const machines = new Map(live.flatMap(({ id, machine, status }) => (machine === undefined ? [] : [[id, { machine, status }] as const])));
  if (machines.size === 0) return data;
  return {
    ...data,
    nodes: data.nodes.map((node) => {
      const { machine, status } = machines.get(node.id) ?? {};
      if (machine === undefined) return node;
      // The structure has the status that was seen last on a machine that does not answer.
      return { ...node, machine, ...(status === "unknown" && { status }) };
    }),
  };
}

function limitsData({ cpu, memoryBytes, processes, diskBytes }: ObservedLimits): NodeLimitsData {
  return {
    ...(cpu !== undefined && { cpu }),
    ...(memoryBytes !== undefined && { memory_bytes: memoryBytes }),
    ...(processes !== undefined && { processes }),
    ...(diskBytes !== undefined && { disk_bytes: diskBytes }),
  };
}

const mebi = 1024 * 1024;

/** An observed lab, with the names of the intent for its parts. */
interface InspectedLab {
  readonly observed: ObservedLab;
  readonly keys: EndpointKeys;
  readonly templates: ReadonlyMap<string, HostRules["templates"][number]>;
  /** Links of the live read, by id. */
  readonly effects: ReadonlyMap<string, LiveLink>;
  /** The link at each interface: "node id, interface". */
  readonly plugs: ReadonlyMap<string, Plug>;
}

interface Plug {
  readonly link: ObservedLink;
  readonly side: "a" | "b";
}

function inspection(
  target: Target,
  observed: ObservedLab,
  { templates }: HostRules,
  live: readonly LiveLink[],
  takenAt: string,
): InspectionData {
  const keys = endpointKeys(joinIds(target.intent?.lab ?? null, observed, target.ids));
  const lab: InspectedLab = {
    observed,
    keys,
    templates: new Map(templates.map((template) => [template.id, template])),
    effects: new Map(live.map((link) => [link.id, link])),
    plugs: plugsOf(observed.links),
  };
  const intended = target.intent?.lab;
  const nodeKeys = intended && new Set(intended.nodes.map((node) => node.key));
  const networkKeys = intended && new Set(intended.networks.map((network) => network.key));
  const places = placesOf(observed);
  const nodes = observed.nodes.map((node) => inspectedNode(lab, node, knownKey(keys.nodes.get(node.id), nodeKeys), places));
  const links = observed.links.map((link) => inspectedLink(lab, link));
  return {
    lab: target.path,
    name: observed.name,
    ...(observed.description !== undefined && { description: observed.description }),
    mode: target.mode,
    locked: observed.locked,
    lock: observed.lock,
    cached: false,
    taken_at: takenAt,
    nodes: nodes.sort((a, b) => compareNatural(nodeKey(a), nodeKey(b))),
    networks: observed.networks
      .map((network) => {
        const key = keys.networks.get(network.id) ?? network.name;
        return { ...network, key: knownKey(key, networkKeys), unique_key: key };
      })
      .sort((a, b) => compareNatural(a.unique_key, b.unique_key)),
    links: links.sort((a, b) => compareNatural(a.key, b.key)),
    texts: [...observed.texts],
    ...(observed.shapes !== undefined && { shapes: observed.shapes }),
  };
}

/** Returns the key if the intent has it, or if there is no intent; else `null`. */
function knownKey(key: string | undefined, known: ReadonlySet<string> | undefined): string | null {
  return key !== undefined && (known === undefined || known.has(key)) ? key : null;
}

/** Returns free places in the drawing for the nodes that have none. */
function placesOf({ nodes, networks }: ObservedLab): ReturnType<typeof freePlaces> {
  const placeless = nodes.filter(({ position }) => position === undefined).sort((a, b) => compareNatural(a.name, b.name));
  return freePlaces(
    placeless.map(({ id }) => id),
    [...nodes, ...networks].flatMap(({ position }) => position ?? []),
  );
}

function plugsOf(links: readonly ObservedLink[]): ReadonlyMap<string, Plug> {
  const plugs = new Map<string, Plug>();
  for (const link of links) {
    for (const [index, end] of link.endpoints.entries()) {
      if ("nodeId" in end) plugs.set(`${end.nodeId} ${end.interface}`, { link, side: index === 0 ? "a" : "b" });
    }
  }
  return plugs;
}

function inspectedNode(
  lab: InspectedLab,
  observed: ObservedNode,
  key: string | null,
  places: ReturnType<typeof freePlaces>,
): InspectedNode {
  const { id, name, template, type, image, icon, power, cpu, ram, position, consoleType, limits, labels, ports, sshKeys } = observed;
  const defaults = lab.templates.get(template);
  return {
    id,
    node: key,
    unique_key: lab.keys.nodes.get(id) ?? name,
    name,
    template,
    type,
    ...(image !== undefined && { image }),
    ...(icon !== undefined && { icon }),
    status: power,
    cpu: cpu ?? defaults?.cpu ?? limits?.cpu ?? 0,
    ram: ram ?? defaults?.ram ?? (limits?.memoryBytes ?? 0) / mebi,
    position: position ?? places.get(id) ?? { x: 0, y: 0 },
    ...(position === undefined && { placed: true }),
    console: { type: consoleType },
    ...(limits !== undefined && { limits: limitsData(limits) }),
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(ports !== undefined && ports.length > 0 && { ports: [...ports] }),
    ...(sshKeys !== undefined && { ssh: true }),
    interfaces: observed.interfaces.map((one) => inspectedInterface(lab, id, one)),
  };
}

function inspectedInterface(
  { keys, plugs, effects }: InspectedLab,
  nodeId: string,
  { index, name, type, mac }: ObservedNode["interfaces"][number],
): InspectedInterface {
  const plug = plugs.get(`${nodeId} ${name}`);
  const base = { name, index, type, ...(mac !== undefined && { mac }) };
  if (plug === undefined) return { ...base, suspended: false };
  const { link, side } = plug;
  const other = link.endpoints[side === "a" ? 1 : 0];
  const peer = endpointText(endpointOf(other, keys));
  const quality = effects.get(link.id)?.[side];
  return {
    ...base,
    link: observedLinkKey(link, keys),
    peer,
    ...("networkId" in other && { network: peer }),
    suspended: link.suspended?.[side] ?? false,
    ...(quality !== undefined && { quality }),
  };
}

function inspectedLink({ keys, effects }: InspectedLab, link: ObservedLink): InspectedLink {
  const effect = effects.get(link.id);
  return {
    id: link.id,
    key: observedLinkKey(link, keys),
    endpoints: link.endpoints.map((end) => endpointText(endpointOf(end, keys))),
    kind: link.endpoints.some((end) => "networkId" in end) ? "network" : "p2p",
    suspended: (link.suspended?.a ?? false) || (link.suspended?.b ?? false),
    ...(link.quality !== undefined && { stored_quality: link.quality }),
    ...(effect !== undefined && {
      quality: { ...(effect.a !== undefined && { a: effect.a }), ...(effect.b !== undefined && { b: effect.b }) },
    }),
  };
}
