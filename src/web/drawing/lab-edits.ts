import { sameData } from "../../intent/lab/canonical.ts";
import { type Endpoint, type Lab, type LabLink, type LabNode, linkKey, type Position } from "../../intent/lab/lab.ts";
import { NAME } from "../../intent/read/node-fields.ts";
import { type LabShape, shapeLimits } from "../../intent/shapes/shape.ts";

/**
 * An edit of a lab that is drawn with the pointer or the keyboard. Nodes and networks share one set of keys. `taken` has the names of parts on the host:
 * new parts get others.
 */
export type DrawnEdit =
  | { readonly kind: "add-node"; readonly template: string; readonly at: Position; readonly taken?: ReadonlySet<string> }
  | { readonly kind: "add-network"; readonly type: string; readonly at: Position; readonly taken?: ReadonlySet<string> }
  | { readonly kind: "add-text"; readonly text: string; readonly at: Position }
  /** `index` is that of the text in the lab. */
  | { readonly kind: "set-text"; readonly index: number; readonly text: string }
  | { readonly kind: "move-texts"; readonly places: ReadonlyMap<number, Position> }
  | { readonly kind: "remove-texts"; readonly indexes: ReadonlySet<number> }
  | { readonly kind: "add-shapes"; readonly shapes: readonly LabShape[] }
  /** Shapes and what becomes of each; undefined removes it. */
  | { readonly kind: "set-shapes"; readonly changes: readonly (readonly [before: LabShape, after: LabShape | undefined])[] }
  /** Other interfaces for the ends of a link, by node. */
  | { readonly kind: "set-interfaces"; readonly link: string; readonly interfaces: ReadonlyMap<string, string> }
  | { readonly kind: "link"; readonly from: string; readonly to: string; readonly interfaces: InterfaceNames }
  | { readonly kind: "move"; readonly places: ReadonlyMap<string, Position> }
  /** keepsKey: only the shown name changes, so that a node on the host stays the same node. */
  | {
      readonly kind: "rename";
      readonly key: string;
      readonly to: string;
      readonly keepsKey: boolean;
      readonly taken?: ReadonlySet<string>;
    }
  | { readonly kind: "remove"; readonly parts: ReadonlySet<string>; readonly links: ReadonlySet<string> }
  | { readonly kind: "paste"; readonly copied: CopiedParts; readonly by: Position; readonly taken?: ReadonlySet<string> }
  | {
      readonly kind: "set-node";
      readonly key: string;
      readonly fields: Partial<Pick<LabNode, "start" | "startupConfig" | "image" | "ram">>;
    };

/** Returns the names of a node's interfaces, in the order in which links take them. */
export type InterfaceNames = (node: LabNode) => Iterable<string>;

/** Nodes and networks with the links between them, texts and shapes. */
export interface CopiedParts {
  readonly nodes: Lab["nodes"];
  readonly networks: Lab["networks"];
  readonly links: Lab["links"];
  readonly texts?: Lab["texts"];
  readonly shapes?: readonly LabShape[];
}

/** An edit that is not possible; its message is for the user. */
export class CannotDraw extends Error {}

/** Returns the lab after edits. Throws CannotDraw. */
export function editedAll(lab: Lab, edits: readonly DrawnEdit[]): Lab {
  return edits.reduce(edited, lab);
}

function edited(lab: Lab, edit: DrawnEdit): Lab {
  switch (edit.kind) {
    case "add-node": {
      const key = freeKey(lab, prefixOf(edit.template), edit.taken);
      const node: LabNode = { key, name: key, template: edit.template, exec: [], env: {}, attributes: {}, labels: {}, position: edit.at };
      return { ...lab, nodes: [...lab.nodes, node] };
    }
    case "add-network": {
      const key = freeKey(lab, edit.type === "bridge" ? "net" : edit.type, edit.taken);
      return { ...lab, networks: [...lab.networks, { key, name: key, type: edit.type, position: edit.at }] };
    }
    case "add-text":
      return { ...lab, texts: [...lab.texts, { text: edit.text, ...edit.at }] };
    case "set-text":
      return { ...lab, texts: lab.texts.map((one, index) => (index === edit.index ? { ...one, text: edit.text } : one)) };
    case "move-texts":
      return { ...lab, texts: lab.texts.map((one, index) => ({ ...one, ...edit.places.get(index) })) };
    case "remove-texts":
      return { ...lab, texts: lab.texts.filter((_one, index) => !edit.indexes.has(index)) };
    case "add-shapes":
      return withShapes(lab, [...(lab.shapes ?? []), ...edit.shapes]);
    case "set-shapes":
      return changedShapes(lab, edit.changes);
    case "set-interfaces":
      return withInterfaces(lab, edit);
    case "link":
      return { ...lab, links: [...lab.links, newLink(lab, edit)] };
    case "move":
      return moved(lab, edit.places);
    case "rename":
      checkName(lab, edit);
      return edit.keepsKey ? withName(lab, edit.key, edit.to) : renamed(lab, edit.key, edit.to);
    case "remove":
      return removed(lab, edit);
    case "paste":
      return pasted(lab, edit);
    case "set-node":
      return { ...lab, nodes: lab.nodes.map((node) => (node.key === edit.key ? { ...node, ...edit.fields } : node)) };
  }
}

/** Returns the given parts of a lab, with the links between them. @param texts indexes of texts */
export function copied(
  lab: Lab,
  parts: ReadonlySet<string>,
  texts: ReadonlySet<number> = new Set(),
  shapes: readonly LabShape[] = [],
): CopiedParts {
  return {
    nodes: lab.nodes.filter(({ key }) => parts.has(key)),
    networks: lab.networks.filter(({ key }) => parts.has(key)),
    links: lab.links.filter(({ endpoints }) => endpoints.every((end) => parts.has(partOf(end)))),
    texts: lab.texts.filter((_one, index) => texts.has(index)),
    shapes,
  };
}

/** Returns the first key that no node or network has: r1, r2 … */
export function freeKey(lab: Pick<Lab, "nodes" | "networks">, prefix: string, taken: ReadonlySet<string> = new Set()): string {
  const used = new Set([...taken, ...[...lab.nodes, ...lab.networks].flatMap(({ key, name }) => [key, name])]);
  for (let number = 1; ; number++) if (!used.has(`${prefix}${number}`)) return `${prefix}${number}`;
}

/** Letters that engineers use for a kind of device. */
function prefixOf(template: string): string {
  if (/frr|router|dynamips|c\d{4}|csr|xrv|vyos|ios(?!l2)/i.test(template)) return "r";
  if (/switch|l2|bridge|ovs/i.test(template)) return "sw";
  if (/linux|vpcs|host|pc/i.test(template)) return "h";
  return (
    template
      .toLowerCase()
      .replace(/[^a-z0-9]/g, "")
      .slice(0, 8) || "n"
  );
}

function partOf(end: Endpoint): string {
  return "node" in end ? end.node : end.network;
}

function newLink(lab: Lab, { from, to, interfaces }: Extract<DrawnEdit, { kind: "link" }>): LabLink {
  const used = new Set(lab.links.flatMap(({ endpoints }) => endpoints.map((end) => ("node" in end ? `${end.node}:${end.interface}` : ""))));
  const endAt = (key: string): Endpoint => {
    const node = lab.nodes.find((one) => one.key === key);
    if (node === undefined) {
      if (lab.networks.some((one) => one.key === key)) return { network: key };
      throw new CannotDraw(`${key} is only on the host: take it over into the text first`);
    }
    for (const name of interfaces(node)) {
      if (used.has(`${key}:${name}`)) continue;
      used.add(`${key}:${name}`);
      return { node: key, interface: name };
    }
    throw new CannotDraw(`${key} has no free interface`);
  };
  const endpoints = [endAt(from), endAt(to)] as const;
  if (endpoints.every((end) => "network" in end)) throw new CannotDraw("two networks cannot be linked: link a node to each of them");
  if (from === to) throw new CannotDraw("a link needs two different ends");
  return { key: linkKey(...endpoints), endpoints };
}

function withInterfaces(lab: Lab, { link: key, interfaces }: Extract<DrawnEdit, { kind: "set-interfaces" }>): Lab {
  const used = new Set(
    lab.links.flatMap((link) =>
      link.key === key ? [] : link.endpoints.map((end) => ("node" in end ? `${end.node}:${end.interface}` : "")),
    ),
  );
  const end = (one: Endpoint): Endpoint => {
    const name = "node" in one ? interfaces.get(one.node) : undefined;
    if (!("node" in one) || name === undefined) return one;
    if (used.has(`${one.node}:${name}`)) throw new CannotDraw(`${one.node}:${name} has a link already: choose another interface`);
    return { node: one.node, interface: name };
  };
  return { ...lab, links: lab.links.map((link) => (link.key === key ? relinked(link, end) : link)) };
}

function moved(lab: Lab, places: ReadonlyMap<string, Position>): Lab {
  const move = <T extends { readonly key: string }>(part: T): T => {
    const at = places.get(part.key);
    return at === undefined ? part : { ...part, position: { x: Math.round(at.x), y: Math.round(at.y) } };
  };
  return { ...lab, nodes: lab.nodes.map(move), networks: lab.networks.map(move) };
}

function withName(lab: Lab, key: string, name: string): Lab {
  const part = <T extends { readonly key: string }>(one: T): T => (one.key === key ? { ...one, name } : one);
  return { ...lab, nodes: lab.nodes.map(part), networks: lab.networks.map(part) };
}

function checkName(lab: Lab, { key, to, taken }: Extract<DrawnEdit, { kind: "rename" }>): void {
  const others = [...lab.nodes, ...lab.networks].filter((one) => one.key !== key);
  if (taken?.has(to) === true || others.some((one) => one.key === to || one.name === to)) {
    throw new CannotDraw(`${to} exists already: choose another name`);
  }
  if (NAME.test(to)) return;
  throw new CannotDraw("a name has 1 to 64 letters, digits, dots, underscores or hyphens, and begins with a letter or digit");
}

function renamed(lab: Lab, key: string, to: string): Lab {
  if (to === key) return lab;
  const part = <T extends { readonly key: string; readonly name: string }>(one: T): T =>
    one.key === key ? { ...one, key: to, name: one.name === key ? to : one.name } : one;
  const end = (one: Endpoint): Endpoint =>
    "node" in one ? { ...one, node: one.node === key ? to : one.node } : { network: one.network === key ? to : one.network };
  return {
    ...lab,
    nodes: lab.nodes.map(part),
    networks: lab.networks.map(part),
    links: lab.links.map((link) => relinked(link, end)),
    trafficFilters: lab.trafficFilters.map((filter) => ({
      ...filter,
      ...(filter.nodes !== undefined && { nodes: filter.nodes.map((one) => (one === key ? to : one)) }),
    })),
  };
}

function removed(lab: Lab, { parts, links }: Extract<DrawnEdit, { kind: "remove" }>): Lab {
  return {
    ...lab,
    nodes: lab.nodes.filter(({ key }) => !parts.has(key)),
    networks: lab.networks.filter(({ key }) => !parts.has(key)),
    links: lab.links.filter(({ key, endpoints }) => !links.has(key) && !endpoints.some((end) => parts.has(partOf(end)))),
    trafficFilters: lab.trafficFilters.flatMap((filter) => {
      // A filter without nodes applies to all: one whose nodes are all removed goes with them.
      const nodes = filter.nodes?.filter((one) => !parts.has(one));
      if (nodes === undefined || nodes.length === filter.nodes?.length) return [filter];
      return nodes.length === 0 ? [] : [{ ...filter, nodes }];
    }),
  };
}

function withShapes(lab: Lab, shapes: readonly LabShape[]): Lab {
  if (shapes.length > shapeLimits.shapes) throw new CannotDraw(`a lab has at most ${shapeLimits.shapes} shapes: delete some of them first`);
  return { ...lab, shapes };
}

/** A shape that the text does not have any more, after a quick edit before, is left out. */
function changedShapes(lab: Lab, changes: Extract<DrawnEdit, { kind: "set-shapes" }>["changes"]): Lab {
  const shapes: (LabShape | undefined)[] = [...(lab.shapes ?? [])];
  const changed = new Set<number>();
  for (const [before, after] of changes) {
    const index = shapes.findIndex((one, at) => one !== undefined && !changed.has(at) && sameData(one, before));
    if (index === -1) continue;
    shapes[index] = after;
    changed.add(index);
  }
  return { ...lab, shapes: shapes.filter((one) => one !== undefined) };
}

function pasted(lab: Lab, { copied, by, taken }: Extract<DrawnEdit, { kind: "paste" }>): Lab {
  const { nodes, networks, links, texts = [], shapes = [] } = copied;
  const keys = new Map<string, string>();
  let grown: Pick<Lab, "nodes" | "networks"> = lab;
  const place = (at: Position | undefined) => (at === undefined ? {} : { position: { x: at.x + by.x, y: at.y + by.y } });
  for (const node of nodes) {
    const key = freeKey(grown, node.key.replace(/\d+$/, ""), taken);
    keys.set(node.key, key);
    grown = {
      ...grown,
      nodes: [...grown.nodes, { ...node, key, name: node.name === node.key ? key : node.name, ...place(node.position) }],
    };
  }
  for (const network of networks) {
    const key = freeKey(grown, network.key.replace(/\d+$/, ""), taken);
    keys.set(network.key, key);
    const name = network.name === network.key ? key : network.name;
    grown = { ...grown, networks: [...grown.networks, { ...network, key, name, ...place(network.position) }] };
  }
  const end = (one: Endpoint): Endpoint => ("node" in one ? { ...one, node: keys.get(one.node)! } : { network: keys.get(one.network)! });
  const beside = texts.map(({ text, x, y }) => ({ text, x: x + by.x, y: y + by.y }));
  const drawn = shapes.map((shape) => {
    const moved = { ...shape, x: shape.x + by.x, y: shape.y + by.y };
    return moved.type === "line" ? { ...moved, x2: moved.x2 + by.x, y2: moved.y2 + by.y } : moved;
  });
  const all = { ...lab, ...grown, texts: [...lab.texts, ...beside], links: [...lab.links, ...links.map((link) => relinked(link, end))] };
  return drawn.length === 0 ? all : withShapes(all, [...(lab.shapes ?? []), ...drawn]);
}

function relinked(link: LabLink, end: (one: Endpoint) => Endpoint): LabLink {
  const endpoints = [end(link.endpoints[0]), end(link.endpoints[1])] as const;
  return { ...link, endpoints, key: linkKey(...endpoints) };
}
