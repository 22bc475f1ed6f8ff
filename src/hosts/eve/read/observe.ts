import type { NumberClash, ObservedEndpoint, ObservedLab, ObservedLink, ObservedNode, Power } from "../../../engine/model/observed.ts";
import { linksOf, type UnlEnd, type UnlLink } from "../../../formats/unl/links.ts";
import type { Quality } from "../../../intent/lab/lab.ts";
import { shapeLimits } from "../../../intent/shapes/shape.ts";
import type { EveEdition } from "../account/edition.ts";
import { readShape, readText } from "../lab-file/texts.ts";
import type { UnlInterface, UnlLab, UnlNode } from "../lab-file/unl.ts";
import type { EveCatalogue } from "../templates/catalogue.ts";
import type { InterfaceLists } from "../templates/interface-list.ts";
import { consoleType } from "../templates/template.ts";
import type { LabHead, NodeStatus } from "./lab-read.ts";
import { readAttributes } from "./node-attributes.ts";

/** Node number → the node of another lab that runs, or may run, under it. */
export type Clashes = ReadonlyMap<number, NumberClash>;

/** Converts the lab for the engine: a hidden bridge with two ends is a link between nodes, every other bridge is a network. */
export function observedLab(
  path: string,
  head: LabHead,
  lab: UnlLab,
  nodes: readonly NodeStatus[],
  catalogue: EveCatalogue,
  interfaces: InterfaceLists,
  powerOf: (node: NodeStatus) => LivePower,
): ObservedLab {
  const powers = new Map(nodes.map((node) => [node.id, powerOf(node)]));
  const shapes = lab.textObjects.flatMap((object) => readShape(object) ?? []).slice(0, shapeLimits.shapes);
  const links = linksOf(lab);
  const p2p = new Set(links.flatMap((link) => (link.kind === "p2p" ? [link.network] : [])));
  return {
    path,
    id: head.uuid,
    name: head.name,
    ...(lab.description !== undefined && lab.description !== "" && { description: lab.description }),
    locked: head.lock !== 0,
    lock: head.lock,
    nodes: lab.nodes.map((node) => observedNode(node, lab, powers.get(node.id) ?? { power: "stopped" }, catalogue, interfaces)),
    networks: lab.networks
      .filter(({ id }) => !p2p.has(id))
      .map(({ id, name, type, left, top }) => ({
        id: String(id),
        name: name ?? "",
        type: type ?? "bridge",
        ...(left !== undefined && top !== undefined && { position: { x: left, y: top } }),
      })),
    links: links.map((link) => observedLink(link, lab, interfaces)),
    texts: lab.textObjects.flatMap((text) => readText(text) ?? []),
    trafficFilters: [],
    ...(shapes.length > 0 && { shapes }),
  };
}

export interface LivePower {
  readonly power: Power;
  readonly clash?: NumberClash;
  readonly stuck?: true;
}

/**
 * @param clashes of the lab's nodes
 * @param isStarting whether a start of the node is under way
 */
export function powerOf(
  { id, status }: NodeStatus,
  { sharedNames }: Pick<EveEdition, "sharedNames">,
  clashes: Clashes,
  isStarting: (id: number) => boolean,
): LivePower {
  const clash = clashes.get(id);
  if (clash !== undefined) return { power: "unknown", clash };
  // On Community the node is prepared before its start is answered. Later this status means a left-over lock.
  if (status === 1 && sharedNames && !isStarting(id)) return { power: "failed", stuck: true };
  return { power: powerWord(status) };
}

function powerWord(status: number): Power {
  if (status === 0) return "stopped";
  if (status === 1) return "starting";
  // guess pro-stopping: Professional reports 4 while a node stops; other values may exist.
  return status === 2 || status === 3 ? "running" : "stopping";
}

/** Returns the link's id in the lab: the id of its hidden bridge, or of its end. Each has only one link. */
export function linkId(link: UnlLink): string {
  if (link.kind === "p2p") return `bridge${link.network}`;
  const { node, interface: end } = link.kind === "serial" ? link.a : link.end;
  return `${link.kind === "serial" ? "serial" : "node"}${node}-${end}`;
}

function observedNode(
  node: UnlNode,
  lab: UnlLab,
  { power, clash, stuck }: LivePower,
  catalogue: EveCatalogue,
  lists: InterfaceLists,
): ObservedNode {
  const template = catalogue.template(node.template ?? "");
  const interfaces = lists.of(node);
  // Removes NUL characters: no intent can contain them, and one in a node's config must not make the lab unreadable.
  const config = usesConfig(node) ? lab.configs.find(({ id }) => id === node.id)?.text.replaceAll("\0", "") : undefined;
  const { left, top, image, icon, cpu, ram } = node;
  return {
    id: String(node.id),
    name: node.name ?? "",
    template: node.template ?? "",
    type: template?.type ?? node.type ?? "qemu",
    ...(image !== undefined && image !== "" && template?.images !== undefined && { image }),
    ...(icon !== undefined && icon !== "" && { icon }),
    ...(config !== undefined && config !== "" && { startupConfig: config }),
    exec: [],
    ...(cpu !== undefined && template?.cpu !== undefined && { cpu }),
    ...(ram !== undefined && template?.ram !== undefined && { ram }),
    ethernet: interfaces.filter(({ type }) => type === "ethernet").length,
    ...(left !== undefined && top !== undefined && { position: { x: left, y: top } }),
    env: {},
    attributes: readAttributes(node, template),
    labels: {},
    power,
    ...(clash !== undefined && { clash }),
    ...(stuck !== undefined && { stuck }),
    consoleType: consoleType(node.console ?? template?.console ?? "telnet"),
    interfaces: interfaces.map(({ id, index, name, type }) => ({ index: type === "serial" ? serialIndex + id : index, name, type })),
  };
}

/** Serial interfaces are counted separately, from a number above all ethernet interfaces. */
const serialIndex = 1000;

/** Returns whether the node boots with the config that the lab stores for it. guess pro-config-words: Professional has more values than 0 for none. */
export function usesConfig({ config }: UnlNode): boolean {
  return config !== undefined && config !== "" && config !== "0" && config !== "Unconfigured" && config !== "none";
}

function observedLink(link: UnlLink, lab: UnlLab, lists: InterfaceLists): ObservedLink {
  const end = (at: UnlEnd): ObservedEndpoint => ({ nodeId: String(at.node), interface: nameOf(at, lab, lists) });
  if (link.kind === "attachment") {
    const a = qualityAt(lab, link.end);
    return { id: linkId(link), endpoints: [end(link.end), { networkId: String(link.network) }], ...(a && { quality: { a } }) };
  }
  const [a, b] = [qualityAt(lab, link.a), qualityAt(lab, link.b)];
  const quality = a === undefined && b === undefined ? {} : { quality: { ...(a && { a }), ...(b && { b }) } };
  return { id: linkId(link), endpoints: [end(link.a), end(link.b)], ...quality };
}

function nameOf(at: UnlEnd, lab: UnlLab, lists: InterfaceLists): string {
  const node = lab.nodes.find(({ id }) => id === at.node);
  if (node === undefined) return `#${at.interface}`;
  const listed = lists.of(node).find(({ id }) => id === at.interface)?.name;
  return listed ?? node.interfaces.find(({ id }) => id === at.interface)?.name ?? `#${at.interface}`;
}

export function qualityAt(lab: UnlLab, at: UnlEnd): Quality | undefined {
  const one: UnlInterface | undefined = lab.nodes.find(({ id }) => id === at.node)?.interfaces.find(({ id }) => id === at.interface);
  const { source_delay: delay, source_jitter: jitter, source_loss: loss, source_bandwidth: bandwidth } = one ?? {};
  const words = { delay, jitter, loss, bandwidth };
  const set = Object.entries(words).filter(([, value]) => value !== undefined && value !== 0);
  return set.length === 0 ? undefined : Object.fromEntries(set);
}
