import { nodeKey } from "../../../base/node-key.ts";
import type { InspectedNode, InspectionData } from "../../../contract/schemas/observe.ts";
import type { PlanAction } from "../../../contract/schemas/plan.ts";
import { layoutOf, type Place } from "../layout/layout.ts";
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
  /** Texts on the drawing. */
  readonly texts: readonly { readonly text: string; readonly at: Place }[];
}

export interface GraphOptions {
  /** Positions of moved nodes that are not saved yet, by id. */
  readonly moved?: ReadonlyMap<string, Place>;
  /** Actions of a plan, which are drawn as marks. */
  readonly actions?: readonly PlanAction[];
  /** Computes the positions; default: `layoutOf`. */
  readonly layout?: typeof layoutOf;
}

type UnplacedNode = Omit<GraphNode, "at" | "autoPlaced"> & {
  readonly position: Place | undefined;
  /** The key in plans and in the ends of links, also of a node that the intent does not have. */
  readonly uniqueKey: string;
};
type UnplacedLink = Pick<GraphLink, "id" | "key" | "endpoints" | "suspended" | "quality">;

/** Returns the drawing of an inspected lab. With the actions of a plan, it also contains the parts that the plan will create. */
export function graphOf(inspection: InspectionData, { moved, actions = [], layout = layoutOf }: GraphOptions = {}): Graph {
  const marks = planMarks(actions);
  const marked = (part: string): { readonly mark?: PlanMark } => {
    const mark = marks.get(part);
    return mark === undefined ? {} : { mark };
  };
  const existing = [...nodesOf(inspection), ...networksOf(inspection)];
  const drawn = [...existing, ...createdNodes(actions)].map((one) => ({ ...one, ...marked(`${one.kind}:${one.uniqueKey}`) }));
  const ends = new Map(drawn.map(({ id, uniqueKey }) => [uniqueKey, id]));
  const links = [...linksOf(inspection), ...createdLinks(actions)].flatMap((link) => {
    const [a, b] = link.endpoints.map(endOf);
    const from = a && ends.get(a.name);
    const to = b && ends.get(b.name);
    if (from === undefined || to === undefined) return [];
    return [{ ...link, ...marked(`link:${link.key}`), from, to, fromInterface: a!.interface, toInterface: b!.interface }];
  });
  const pairs = links.map(({ from, to }) => [from, to] as const);
  const places = layout(drawn, pairs);
  return {
    nodes: drawn.map(({ position, uniqueKey: _key, ...node }) => ({
      ...node,
      at: moved?.get(node.id) ?? places.get(node.id)!,
      autoPlaced: position === undefined && moved?.has(node.id) !== true,
    })),
    links: withLanes(links),
    texts: inspection.texts.map(({ text, x, y }) => ({ text, at: { x, y } })),
  };
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

function createdNodes(actions: readonly PlanAction[]): readonly UnplacedNode[] {
  return actions.flatMap(({ op, kind, key, name, changes }) => {
    if (op !== "create" || (kind !== "node" && kind !== "network")) return [];
    const after = (field: string) => changes.find((change) => change.field === field)?.after;
    const type = String(after(kind === "node" ? "template" : "type") ?? "");
    return [
      { id: `new:${kind}:${key}`, key, uniqueKey: key, label: name ?? key, kind, type, position: after("position") as Place | undefined },
    ];
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
