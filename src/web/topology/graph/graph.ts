import type { InspectedNode, InspectionData } from "../../../contract/schemas/observe.ts";
import type { PlanAction } from "../../../contract/schemas/plan.ts";
import { type Place, placed } from "../layout/layout.ts";
import { type PlanMark, planMarks } from "./plan-marks.ts";
import { qualityWords } from "./quality-text.ts";

export interface GraphNode {
  /** Native id; of a network with "net:" before it. What a plan is yet to make: "new:" and its kind and key. */
  readonly id: string;
  /** In the intent; null where it is not joined to it. */
  readonly key: string | null;
  readonly label: string;
  readonly kind: "node" | "network";
  /** Type of a node's template, type of a network. */
  readonly type: string;
  readonly at: Place;
  /** Nobody said where: the picture did. */
  readonly placed: boolean;
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
  /** What is declared or live of its quality, in a few words; "" for a plain cable. */
  readonly quality: string;
  /** Which of several links between the same two it is, from 0, and how many there are: they are drawn side by side. */
  readonly lane: number;
  readonly lanes: number;
  readonly mark?: PlanMark;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly links: readonly GraphLink[];
  /** What somebody wrote on the drawing. */
  readonly texts: readonly { readonly text: string; readonly at: Place }[];
}

export interface GraphOptions {
  /** By id: where a person put a node meanwhile. */
  readonly moved?: ReadonlyMap<string, Place>;
  /** What a plan does is drawn, too. */
  readonly actions?: readonly PlanAction[];
  /** How places are found; default: `placed`. */
  readonly place?: typeof placed;
}

type Drawn = Omit<GraphNode, "at" | "placed"> & { readonly position: Place | undefined };
type Cable = Pick<GraphLink, "id" | "key" | "endpoints" | "suspended" | "quality">;

/** What of an inspected lab is drawn, and where; with a plan also what is not there yet. */
export function graphOf(inspection: InspectionData, { moved, actions = [], place = placed }: GraphOptions = {}): Graph {
  const marks = planMarks(actions);
  const marked = (thing: string): { readonly mark?: PlanMark } => {
    const mark = marks.get(thing);
    return mark === undefined ? {} : { mark };
  };
  const there = [...nodesOf(inspection), ...networksOf(inspection)];
  const drawn = [...there, ...comingNodes(actions)].map((one) => ({ ...one, ...marked(`${one.kind}:${one.key ?? one.label}`) }));
  const ends = new Map(drawn.map(({ id, key, label }) => [key ?? label, id]));
  const links = [...cablesOf(inspection), ...comingCables(actions)].flatMap((cable) => {
    const [a, b] = cable.endpoints.map(endOf);
    const from = a && ends.get(a.name);
    const to = b && ends.get(b.name);
    if (from === undefined || to === undefined) return [];
    return [{ ...cable, ...marked(`link:${cable.key}`), from, to, fromInterface: a!.interface, toInterface: b!.interface }];
  });
  const pairs = links.map(({ from, to }) => [from, to] as const);
  const places = place(drawn, pairs);
  return {
    nodes: drawn.map(({ position, ...node }) => ({
      ...node,
      at: moved?.get(node.id) ?? places.get(node.id)!,
      placed: position === undefined && moved?.has(node.id) !== true,
    })),
    links: inLanes(links),
    texts: inspection.texts.map(({ text, x, y }) => ({ text, at: { x, y } })),
  };
}

/** Where a node is by intent or host; undefined where the service only gave it a free place. */
export function ownPlace({ position, placed }: InspectedNode): Place | undefined {
  return placed === true ? undefined : position;
}

function nodesOf({ nodes }: InspectionData): readonly Drawn[] {
  return nodes.map((one) => ({ id: one.id, key: one.node, label: one.name, kind: "node", type: one.type, position: ownPlace(one) }));
}

function networksOf({ networks }: InspectionData): readonly Drawn[] {
  return networks.map(({ id, key, name, type, position }) => ({ id: `net:${id}`, key, label: name, kind: "network", type, position }));
}

function cablesOf({ links }: InspectionData): readonly Cable[] {
  return links.map(({ id, key, endpoints, suspended, quality, stored_quality }) => ({
    id,
    key,
    endpoints,
    suspended,
    quality: qualityWords(quality ?? stored_quality ?? {}),
  }));
}

function comingNodes(actions: readonly PlanAction[]): readonly Drawn[] {
  return actions.flatMap(({ op, kind, key, name, changes }) => {
    if (op !== "create" || (kind !== "node" && kind !== "network")) return [];
    const after = (field: string) => changes.find((change) => change.field === field)?.after;
    const type = String(after(kind === "node" ? "template" : "type") ?? "");
    return [{ id: `new:${kind}:${key}`, key, label: name ?? key, kind, type, position: after("position") as Place | undefined }];
  });
}

function comingCables(actions: readonly PlanAction[]): readonly Cable[] {
  return actions
    .filter(({ op, kind }) => op === "create" && kind === "link")
    .map(({ key }) => ({ id: `new:link:${key}`, key, endpoints: key.split(" -- "), suspended: false, quality: "" }));
}

/** "r1:eth1", or a network's key. */
function endOf(text: string): { readonly name: string; readonly interface: string } {
  const colon = text.indexOf(":");
  return colon < 0 ? { name: text, interface: "" } : { name: text.slice(0, colon), interface: text.slice(colon + 1) };
}

function inLanes(links: readonly Omit<GraphLink, "lane" | "lanes">[]): readonly GraphLink[] {
  const lanes = new Map<string, number>();
  const pair = ({ from, to }: { readonly from: string; readonly to: string }) => (from < to ? `${from} ${to}` : `${to} ${from}`);
  const numbered = links.map((link) => {
    const lane = lanes.get(pair(link)) ?? 0;
    lanes.set(pair(link), lane + 1);
    return { ...link, lane };
  });
  return numbered.map((link) => ({ ...link, lanes: lanes.get(pair(link))! }));
}
