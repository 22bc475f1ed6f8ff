import { interfaceNaming } from "../../../base/names/interface-names.ts";
import { linksOf, sameEnd, type UnlEnd, type UnlLink } from "../../../formats/unl/links.ts";
import { type Endpoint, type LabLink, linkKey } from "../../../intent/lab/lab.ts";
import { hostFailure } from "../api/host-failure.ts";
import type { UnlLab, UnlNode } from "../lab-file/unl.ts";
import { attach, connectSerial, disconnect, endsOf } from "../lab-file/unl-links.ts";
import { linkId } from "../read/observe.ts";
import { hostCount } from "../templates/interface-shape.ts";
import type { EveTemplate } from "../templates/template.ts";
import { setLinkQuality } from "./edit-quality.ts";
import type { LabDraft } from "./lab-draft.ts";

/** Creates the link, or sets the quality of the existing link. Throws host_error, node_not_found, unsupported. */
export function putLink(draft: LabDraft, wanted: LabLink): void {
  const [a, b] = wanted.endpoints;
  const existing = findLink(draft, wanted.key);
  if (existing === undefined) {
    if ("node" in a && "node" in b) joinNodes(draft, wanted.key, nativeEnd(draft, a), nativeEnd(draft, b));
    else if ("node" in a && "network" in b) joinNetwork(draft, wanted.key, nativeEnd(draft, a), b.network);
    else if ("network" in a && "node" in b) joinNetwork(draft, wanted.key, nativeEnd(draft, b), a.network);
    else throw hostFailure(`link ${wanted.key}: EVE-NG does not link networks with each other`);
  }
  setLinkQuality(draft, wanted, (end) => nativeEnd(draft, end));
  const made = findLink(draft, wanted.key);
  if (made !== undefined) draft.ids.links.set(wanted.key, linkId(made));
}

function joinNodes(draft: LabDraft, key: string, a: UnlEnd, b: UnlEnd): void {
  if (sameEnd(a, b)) throw hostFailure(`link ${key}: both ends are the same interface`);
  for (const end of [a, b]) refuseTaken(draft, key, end);
  const [serialA, serialB] = [isSerial(draft, a), isSerial(draft, b)];
  if (serialA !== serialB) throw hostFailure(`link ${key}: a serial interface is linked with a serial interface`);
  if (serialA) {
    draft.lab = connectSerial(draft.lab, a, b);
    return;
  }
  const id = draft.freshNetwork();
  const [one, other] = [draft.nodeById(a.node), draft.nodeById(b.node)];
  const network = {
    id,
    type: "bridge",
    name: `${one?.name}_${a.interface}-${other?.name}_${b.interface}`,
    left: Math.round(((one?.left ?? 0) + (other?.left ?? 0)) / 2),
    top: Math.round(((one?.top ?? 0) + (other?.top ?? 0)) / 2),
    visibility: 0,
  };
  draft.lab = { ...draft.lab, networks: [...draft.lab.networks, network] };
  draft.lab = named(draft, attach(named(draft, attach(draft.lab, a, id), a), b, id), b);
}

function joinNetwork(draft: LabDraft, key: string, end: UnlEnd, network: string): void {
  const found = draft.findNetwork(network, network);
  if (found === undefined) throw hostFailure(`link ${key}: the lab has no network ${network}`);
  refuseTaken(draft, key, end);
  if (isSerial(draft, end)) throw hostFailure(`link ${key}: a serial interface cannot be in a network`);
  draft.lab = named(draft, attach(draft.lab, end, found.id), end);
  // Hidden, a network with two ends is a link between nodes.
  if (found.visibility !== 1)
    draft.lab = { ...draft.lab, networks: draft.lab.networks.map((one) => (one.id === found.id ? { ...one, visibility: 1 } : one)) };
}

function refuseTaken(draft: LabDraft, key: string, end: UnlEnd): void {
  const link = linksOf(draft.lab).find((one) => endsOf(one).some((other) => sameEnd(other, end)));
  if (link !== undefined)
    throw hostFailure(`link ${key}: ${draft.nodeById(end.node)?.name} has another link at interface ${end.interface}`);
}

/** The interface's name beside its number, as EVE-NG writes it. */
function named(draft: LabDraft, of: UnlLab, end: UnlEnd): UnlLab {
  return {
    ...of,
    nodes: of.nodes.map((node) => {
      if (node.id !== end.node) return node;
      const name = draft.lists.of(node).find(({ id }) => id === end.interface)?.name;
      const interfaces = node.interfaces.map((one) => (one.id === end.interface && name !== undefined ? { ...one, name } : one));
      return { ...node, interfaces };
    }),
  };
}

function nativeEnd(draft: LabDraft, end: Endpoint): UnlEnd {
  if (!("node" in end)) throw hostFailure(`the end of the link is network ${end.network}, not a node`);
  const node = draft.nodeOf(end.node);
  const listed = draft.lists.of(node).find(({ name }) => name === end.interface);
  if (listed !== undefined) return { node: node.id, interface: listed.id };
  const template = draft.catalogue.template(node.template ?? "");
  const index = template === undefined ? undefined : interfaceNaming(template.shape.ethFormat).index(end.interface);
  if (template !== undefined && index !== undefined && index < template.shape.max) {
    // A plan sets the number of interfaces first. A link that is created without a plan may need more.
    const grown = growTo(node, template, index);
    const now = grown === undefined ? undefined : draft.lists.of(grown).find(({ name }) => name === end.interface);
    if (grown !== undefined && now !== undefined) {
      draft.replaceNode(grown);
      return { node: node.id, interface: now.id };
    }
  }
  throw hostFailure(`${end.node} has no interface ${end.interface}`);
}

function growTo(node: UnlNode, template: EveTemplate, index: number): UnlNode | undefined {
  const { shape } = template;
  if (template.type === "iol") {
    const serial = node.interfaces.some(({ type, remote_id }) => type === "serial" || remote_id !== undefined);
    if (serial) throw hostFailure(`node ${node.name}: more ethernet interfaces would rename its serial ones, which have links`);
  }
  return shape.countable ? { ...node, ethernet: hostCount(index + 1, shape) } : undefined;
}

function isSerial(draft: LabDraft, end: UnlEnd): boolean {
  const node = draft.nodeById(end.node);
  return node !== undefined && draft.lists.of(node).some(({ id, type }) => id === end.interface && type === "serial");
}

export function deleteLink(draft: LabDraft, key: string): void {
  const joined = draft.ids.links.get(key);
  const link = joined === undefined ? findLink(draft, key) : linksOf(draft.lab).find((one) => linkId(one) === joined);
  const end = link === undefined ? undefined : endsOf(link)[0];
  if (end !== undefined) cut(draft, end);
  draft.ids.links.delete(key);
}

/** Found by its ends in the intent, which identify a link. */
function findLink(draft: LabDraft, key: string): UnlLink | undefined {
  const nodeKeys = new Map([...draft.ids.nodes].map(([node, id]) => [id, node]));
  const networkKeys = new Map([...draft.ids.networks].map(([network, id]) => [id, network]));
  const word = ({ node, interface: id }: UnlEnd): Endpoint => {
    const of = draft.nodeById(node);
    const name = of === undefined ? "" : (draft.lists.of(of).find((one) => one.id === id)?.name ?? "");
    return { node: nodeKeys.get(String(node)) ?? "", interface: name };
  };
  return linksOf(draft.lab).find((link) => {
    if (link.kind !== "attachment") return linkKey(word(link.a), word(link.b)) === key;
    return linkKey(word(link.end), { network: networkKeys.get(String(link.network)) ?? "" }) === key;
  });
}

/** Removes the link at an interface. A hidden network that keeps fewer ends becomes visible, because with two ends it would be a link. */
export function cut(draft: LabDraft, end: UnlEnd): void {
  const link = linksOf(draft.lab).find((one) => endsOf(one).some((other) => sameEnd(other, end)));
  draft.lab = disconnect(draft.lab, end);
  if (link?.kind !== "attachment") return;
  draft.lab = {
    ...draft.lab,
    networks: draft.lab.networks.map((one) => (one.id === link.network && one.visibility !== 1 ? { ...one, visibility: 1 } : one)),
  };
}
