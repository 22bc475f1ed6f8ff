import { nodeKey } from "../../../base/node-key.ts";
import type { InspectedNode, InspectionData } from "../../../contract/schemas/observe.ts";
import type { PlanAction } from "../../../contract/schemas/plan.ts";
import type { Endpoint, Lab } from "../../../intent/lab/lab.ts";
import type { LabShape } from "../../../intent/shapes/shape.ts";
import { layoutOf, type Place } from "../../../layout/layout.ts";
import { type GraphShape, shapesWithIds } from "../shapes/shapes.ts";
import { type GraphText, textsWithIds } from "../shapes/texts.ts";
import { type IconName, iconOf } from "./icons.ts";
import { labelWidth } from "./labels.ts";
import { type PlanMark, planMarks } from "./plan-marks.ts";
import { qualityText } from "./quality-text.ts";

export interface GraphNode {
  /** The host's id; "net:" and the host's id for a network; "new:" with kind and key for a part that a plan will create. */
  readonly id: string;
  /** Key in the intent; null if the intent does not have it. */
  readonly key: string | null;
  readonly label: string;
  readonly kind: "node" | "network";
  /** Type of the node's template, or type of the network. */
  readonly type: string;
  readonly icon: IconName;
  readonly at: Place;
  /** Whether the layout computed the position, because neither the intent nor the host has one. */
  readonly autoPlaced: boolean;
  readonly mark?: PlanMark;
}

export interface GraphLink {
  readonly id: string;
  readonly key: string;
  readonly endpoints: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly fromInterface: string;
  readonly toInterface: string;
  readonly suspended: boolean;
  /** Its effective or else its declared quality as text; "" without impairments. */
  readonly quality: string;
  /** Index among the parallel links of the same two nodes, from 0, and their number: they are drawn side by side. */
  readonly lane: number;
  readonly lanes: number;
  readonly mark?: PlanMark;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly links: readonly GraphLink[];
  /** Texts on the drawing, in the order of the lab. */
  readonly texts: readonly GraphText[];
  /** In the order of drawing. */
  readonly shapes: readonly GraphShape[];
}

export interface GraphOptions {
  /** The lab of an edited text, which is drawn instead of the host's: with the parts that the text adds and removes. */
  readonly lab?: Lab | undefined;
  /** Whether applying the text deletes the parts that it does not have. */
  readonly prunes?: boolean;
  /** Types of templates, for the nodes that the host does not have yet. */
  readonly types?: ReadonlyMap<string, string>;
  /** Actions of a plan, which are drawn as marks. */
  readonly actions?: readonly PlanAction[];
  /** The shapes, with the ids that they keep over edits; default: new ids. */
  readonly shapes?: readonly GraphShape[];
  /** The texts, with the ids that they keep over edits; default: new ids. */
  readonly texts?: readonly GraphText[];
  /** Computes the positions; default: `layoutOf`. */
  readonly layout?: typeof layoutOf;
}

type UnplacedNode = Omit<GraphNode, "at" | "autoPlaced"> & {
  readonly position: Place | undefined;
  /** The key in plans and in the ends of links, also of a node that the intent does not have. */
  readonly uniqueKey: string;
};
type UnplacedLink = Pick<GraphLink, "id" | "key" | "endpoints" | "suspended" | "quality" | "mark">;

interface Parts {
  readonly nodes: readonly UnplacedNode[];
  readonly links: readonly UnplacedLink[];
}

/** Returns the drawing of an inspected lab. With the actions of a plan, it also contains the parts that the plan will create. */
export function graphOf(
  inspection: InspectionData,
  { lab, prunes = false, types, actions = [], shapes, texts, layout = layoutOf }: GraphOptions = {},
): Graph {
  const marks = planMarks(actions);
  const host = { nodes: [...nodesOf(inspection), ...networksOf(inspection)], links: linksOf(inspection) };
  const edited = lab === undefined ? { nodes: host.nodes, links: host.links } : withLab(host, lab, prunes, types);
  const known = new Set([
    ...edited.nodes.map(({ kind, uniqueKey }) => `${kind}:${uniqueKey}`),
    ...edited.links.map(({ key }) => `link:${key}`),
  ]);
  const isNew = (part: string) => !known.has(part);
  const marked = (part: string): { readonly mark?: PlanMark } => {
    const mark = marks.get(part);
    return mark === undefined ? {} : { mark };
  };
  const created = createdNodes(actions).filter(({ kind, uniqueKey }) => isNew(`${kind}:${uniqueKey}`));
  const drawn = [...edited.nodes, ...created].map((one) => ({ ...one, ...marked(`${one.kind}:${one.uniqueKey}`) }));
  // A node of the text may have another key than the node of the host that it is.
  const ends = new Map([...host.nodes, ...drawn].map(({ id, uniqueKey }) => [uniqueKey, id]));
  const links = [...edited.links, ...createdLinks(actions).filter(({ key }) => isNew(`link:${key}`))].flatMap((link) => {
    const [a, b] = link.endpoints.map(endOf);
    const from = a && ends.get(a.name);
    const to = b && ends.get(b.name);
    if (from === undefined || to === undefined) return [];
    return [{ ...link, ...marked(`link:${link.key}`), from, to, fromInterface: a!.interface, toInterface: b!.interface }];
  });
  const pairs = links.map(({ from, to }) => [from, to] as const);
  const places = layout(
    // leaf2 stands before leaf10, also in a text that has not been applied yet.
    drawn.toSorted(byLabel).map(({ id, position, label }) => ({ id, position, name: label, width: labelWidth(label) })),
    pairs,
  );
  return {
    nodes: drawn.map(({ position, uniqueKey: _key, ...node }) => ({
      ...node,
      at: places.get(node.id)!,
      autoPlaced: position === undefined,
    })),
    links: withLanes(links),
    texts: texts ?? textsWithIds([], (lab ?? inspection).texts),
    shapes: shapes ?? shapesWithIds([], drawnShapes(inspection, lab)),
  };
}

/** Returns the id of a part that the host does not have yet. */
export function newPartId(kind: GraphNode["kind"], key: string): string {
  return `new:${kind}:${key}`;
}

/** Compares by label in natural order. */
export function byLabel(a: { readonly label: string }, b: { readonly label: string }): number {
  return a.label.localeCompare(b.label, "en", { numeric: true });
}

/** Returns the shapes of the edited text, or else those that the service has. */
export function drawnShapes({ shapes = [] }: InspectionData, lab: Lab | undefined): readonly LabShape[] {
  // The service sends shapes of this form.
  return lab === undefined ? (shapes as readonly LabShape[]) : (lab.shapes ?? []);
}

/** Returns the position of a node in the intent or on the host; undefined if the service only assigned it a free position. */
export function declaredPlace({ position, placed }: InspectedNode): Place | undefined {
  return placed === true ? undefined : position;
}

function nodesOf({ nodes }: InspectionData): readonly UnplacedNode[] {
  return nodes.map((one) => ({
    id: one.id,
    key: one.node,
    uniqueKey: nodeKey(one),
    label: one.name,
    kind: "node",
    type: one.type,
    icon: iconOf(one),
    position: declaredPlace(one),
  }));
}

function networksOf({ networks }: InspectionData): readonly UnplacedNode[] {
  return networks.map(({ id, key, unique_key, name, type, position }) => ({
    id: `net:${id}`,
    key,
    uniqueKey: unique_key ?? key ?? name,
    label: name,
    kind: "network",
    type,
    icon: "cloud",
    position,
  }));
}

function linksOf({ links }: InspectionData): readonly UnplacedLink[] {
  return links.map(({ id, key, endpoints, suspended, quality, stored_quality }) => ({
    id,
    key,
    endpoints,
    suspended,
    quality: qualityText(quality ?? stored_quality ?? {}),
  }));
}

/** Adds the parts of a text that the host does not have. With `prunes`, marks those that the text does not have any more. */
function withLab(host: Parts, lab: Lab, prunes: boolean, types: ReadonlyMap<string, string> = new Map()): Parts {
  const wanted = new Map<string, Omit<UnplacedNode, "id">>([
    ...lab.nodes.map(({ key, name, template, icon, position }) => {
      const type = types.get(template) ?? template;
      const drawing = iconOf({ icon, template, type });
      return [`node:${key}`, { key, uniqueKey: key, label: name, kind: "node", type, icon: drawing, position }] as const;
    }),
    ...lab.networks.map(({ key, name, type, position }) => {
      return [`network:${key}`, { key, uniqueKey: key, label: name, kind: "network", type, icon: "cloud", position }] as const;
    }),
  ]);
  const texts = claimed(host.nodes, wanted);
  const gone = prunes ? ({ mark: "deleted" } as const) : {};
  const nodes = host.nodes.map((node): UnplacedNode => {
    const text = texts.get(node.id);
    if (text === undefined) return node.key === null ? node : { ...node, ...gone };
    const { key, uniqueKey, label, icon, position = node.position } = text;
    return { ...node, key, uniqueKey, label, icon, position };
  });
  const links = new Map(lab.links.map((link) => [link.key, link]));
  const existing = host.links.map((link): UnplacedLink => {
    if (links.delete(link.key)) return link;
    const isOfText = link.endpoints.every((end) => host.nodes.some(({ uniqueKey, key }) => key !== null && uniqueKey === endOf(end).name));
    return isOfText ? { ...link, ...gone } : link;
  });
  return {
    nodes: [...nodes, ...[...wanted.values()].map((one) => ({ ...one, id: newPartId(one.kind, one.uniqueKey), mark: "created" as const }))],
    links: [
      ...existing,
      ...[...links.values()].map(({ key, endpoints }) => {
        return { id: `new:link:${key}`, key, endpoints: endpoints.map(endText), suspended: false, quality: "", mark: "created" as const };
      }),
    ],
  };
}

/**
 * Takes the parts that the host has out of `wanted`, and returns them by the host's id. As in a plan, a part of the text is that of the host with its
 * key, or else with its name.
 */
function claimed<T extends Pick<UnplacedNode, "uniqueKey" | "label" | "kind">>(
  nodes: readonly UnplacedNode[],
  wanted: Map<string, T>,
): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  const claim = (node: UnplacedNode, text: T | undefined) => {
    if (text === undefined || found.has(node.id)) return;
    found.set(node.id, text);
    wanted.delete(`${node.kind}:${text.uniqueKey}`);
  };
  for (const node of nodes) claim(node, wanted.get(`${node.kind}:${node.uniqueKey}`));
  for (const node of nodes) {
    claim(
      node,
      [...wanted.values()].find(({ kind, label }) => kind === node.kind && label === node.label),
    );
  }
  for (const node of nodes) claim(node, wanted.get(`${node.kind}:${node.label}`));
  return found;
}

function endText(end: Endpoint): string {
  return "node" in end ? `${end.node}:${end.interface}` : end.network;
}

function createdNodes(actions: readonly PlanAction[]): readonly UnplacedNode[] {
  return actions.flatMap(({ op, kind, key, name, changes }) => {
    if (op !== "create" || (kind !== "node" && kind !== "network")) return [];
    const after = (field: string) => changes.find((change) => change.field === field)?.after;
    const type = String(after(kind === "node" ? "template" : "type") ?? "");
    const icon = kind === "network" ? "cloud" : iconOf({ icon: after("icon") as string | undefined, template: type, type });
    const position = after("position") as Place | undefined;
    return [{ id: newPartId(kind, key), key, uniqueKey: key, label: name ?? key, kind, type, icon, position }];
  });
}

function createdLinks(actions: readonly PlanAction[]): readonly UnplacedLink[] {
  return actions
    .filter(({ op, kind }) => op === "create" && kind === "link")
    .map(({ key }) => ({ id: `new:link:${key}`, key, endpoints: key.split(" -- "), suspended: false, quality: "" }));
}

/** Parses an end of a link: "r1:eth1", or a network's key. */
function endOf(text: string): { readonly name: string; readonly interface: string } {
  const colon = text.indexOf(":");
  return colon < 0 ? { name: text, interface: "" } : { name: text.slice(0, colon), interface: text.slice(colon + 1) };
}

/** Numbers the parallel links of each pair of nodes. */
function withLanes(links: readonly Omit<GraphLink, "lane" | "lanes">[]): readonly GraphLink[] {
  const lanes = new Map<string, number>();
  const pair = ({ from, to }: { readonly from: string; readonly to: string }) => (from < to ? `${from} ${to}` : `${to} ${from}`);
  const numbered = links.map((link) => {
    const lane = lanes.get(pair(link)) ?? 0;
    lanes.set(pair(link), lane + 1);
    return { ...link, lane };
  });
  return numbered.map((link) => ({ ...link, lanes: lanes.get(pair(link))! }));
}
