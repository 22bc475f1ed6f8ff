import type { Lab } from "../../intent/lab/lab.ts";
import { boxOf, type LabShape } from "../../intent/shapes/shape.ts";
import { type LayoutKind, layoutOf, type Place, step } from "../../layout/layout.ts";
import { byLabel, type Graph, type GraphNode } from "../topology/graph/graph.ts";
import { labelWidth } from "../topology/graph/labels.ts";
import { isShapeId, movedShape } from "../topology/shapes/shapes.ts";
import { interfaceNames, type KnownInterfaces } from "./interface-names.ts";
import type { CopiedParts, DrawnEdit } from "./lab-edits.ts";

/** The edits of gestures, which name parts by their ids in the drawing. */

/** Returns the edit that keeps computed positions: otherwise one declared position would change the computed positions of all others. */
export function keptPlaces({ nodes }: Graph): DrawnEdit {
  const places = nodes.flatMap(({ key, autoPlaced, at }) => (autoPlaced && key !== null ? [[key, at] as const] : []));
  return { kind: "move", places: new Map(places) };
}

/** Returns the edits that move parts, by their ids. Parts that only the host has cannot be moved in the text. */
export function movesOf(graph: Graph, places: ReadonlyMap<string, Place>): readonly DrawnEdit[] {
  const shapes = shapeMovesOf(graph, places);
  if ([...places.keys()].every(isShapeId)) return [shapes];
  const nodes = graph.nodes.flatMap(({ id, key }) => (key !== null && places.has(id) ? [[key, places.get(id)!] as const] : []));
  return [keptPlaces(graph), { kind: "move", places: new Map(nodes) }, textMovesOf(graph, places), shapes];
}

/** Returns the places of the selected parts after a step. */
export function steppedPlaces(graph: Graph, selected: ReadonlySet<string>, dx: number, dy: number): ReadonlyMap<string, Place> {
  return new Map(movableParts(graph, selected).map(({ id, at }) => [id, { x: Math.round(at.x) + dx, y: Math.round(at.y) + dy }]));
}

/** Returns the edit that moves texts. */
function textMovesOf({ texts }: Graph, places: ReadonlyMap<string, Place>): DrawnEdit {
  const moves = texts.flatMap(({ id }, index) => {
    const to = places.get(id);
    return to === undefined ? [] : [[index, { x: to.x, y: to.y }] as const];
  });
  return { kind: "move-texts", places: new Map(moves) };
}

/** Returns the indexes of the selected texts in the lab. */
export function textIndexes({ texts }: Graph, selected: ReadonlySet<string>): ReadonlySet<number> {
  return new Set(texts.flatMap(({ id }, index) => (selected.has(id) ? [index] : [])));
}

/** Returns the edit that moves shapes. */
function shapeMovesOf({ shapes }: Graph, places: ReadonlyMap<string, Place>): DrawnEdit {
  const changes = shapes.flatMap(({ id, shape }) => {
    const to = places.get(id);
    return to === undefined ? [] : [[shape, movedShape(shape, to)] as const];
  });
  return { kind: "set-shapes", changes };
}

/** Returns the edits that change the selected shapes. @param changed returns what becomes of a shape; undefined removes it */
export function shapeChangesOf(
  { shapes }: Graph,
  selected: ReadonlySet<string>,
  changed: (shape: LabShape) => LabShape | undefined,
): readonly DrawnEdit[] {
  const changes = shapes.flatMap(({ id, shape }) => (selected.has(id) ? [[shape, changed(shape)] as const] : []));
  return changes.length === 0 ? [] : [{ kind: "set-shapes", changes }];
}

/** Returns computed positions for all parts, as if none had one. */
export function arranged({ nodes, links }: Graph, kind: LayoutKind): ReadonlyMap<string, Place> {
  const members = nodes.toSorted(byLabel).map(({ id, label }) => ({ id, name: label, width: labelWidth(label) }));
  return layoutOf(
    members,
    links.map(({ from, to }) => [from, to] as const),
    kind,
  );
}

/** Returns the edits that remove the selected parts; none if the text has none of them. */
export function removalOf(graph: Graph, selected: ReadonlySet<string>): readonly DrawnEdit[] {
  const { nodes, links } = graph;
  const parts = new Set(nodes.flatMap(({ id, key, mark }) => (selected.has(id) && key !== null && mark !== "deleted" ? [key] : [])));
  const removed = new Set(links.flatMap(({ id, key, mark }) => (selected.has(`link:${id}`) && mark !== "deleted" ? [key] : [])));
  const indexes = textIndexes(graph, selected);
  return [
    ...(parts.size + removed.size === 0 ? [] : [{ kind: "remove", parts, links: removed } as const]),
    ...(indexes.size === 0 ? [] : [{ kind: "remove-texts", indexes } as const]),
    ...shapeChangesOf(graph, selected, () => undefined),
  ];
}

/** Returns the edit that links two parts by their first free interfaces. */
export function linkOf(lab: Lab, known: KnownInterfaces, from: string, to: string): DrawnEdit {
  const used = new Map<string, string[]>();
  const templates = new Map(lab.nodes.map(({ key, template }) => [key, template]));
  for (const { endpoints } of lab.links) {
    for (const end of endpoints) {
      if (!("node" in end)) continue;
      const template = templates.get(end.node) ?? "";
      used.set(template, [...(used.get(template) ?? []), end.interface]);
    }
  }
  const sorted = new Map([...used].map(([template, names]) => [template, names.sort(byNumber)]));
  return { kind: "link", from, to, interfaces: interfaceNames(known, sorted) };
}

function byNumber(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : 1);
}

/** Returns a position near `at` that no part covers. @param lab its parts are not covered either: the drawing may be behind the text */
export function freePlace({ nodes }: Pick<Graph, "nodes">, at: Place, lab?: Pick<Lab, "nodes" | "networks">): Place {
  const places = [
    ...nodes.map((node) => node.at),
    ...[...(lab?.nodes ?? []), ...(lab?.networks ?? [])].flatMap((one) => one.position ?? []),
  ];
  const isNear = (a: Place, b: Place) => Math.hypot(a.x - b.x, a.y - b.y) < step * 0.9;
  const isFree = (place: Place) => places.every((other) => !isNear(place, other));
  // Beside the part that is in the way, and so in a row with it.
  const start = places.find((other) => isNear(at, other)) ?? at;
  for (let ring = 0; ring < 40; ring++) {
    const place = ringPlaces(start, ring).find(isFree);
    if (place !== undefined) return place;
  }
  return at;
}

/** Returns the places of a grid that are `ring` steps away: those in the row first, of them the right one. */
function ringPlaces({ x, y }: Place, ring: number): readonly Place[] {
  const side = Array.from({ length: 2 * ring + 1 }, (_, at) => at - ring);
  const all = side.flatMap((column) => side.map((row) => ({ column, row })));
  return all
    .filter(({ column, row }) => Math.max(Math.abs(column), Math.abs(row)) === ring)
    .sort((a, b) => Math.abs(a.row) - Math.abs(b.row) || b.row - a.row || Math.abs(a.column) - Math.abs(b.column) || b.column - a.column)
    .map(({ column, row }) => ({ x: Math.round(x + column * step), y: Math.round(y + row * step) }));
}

/** Returns the edit that pastes parts so that they do not cover those from which they were copied. */
export function pasteOf(copied: CopiedParts, graph: Graph): DrawnEdit {
  const placed = [...copied.nodes, ...copied.networks].find(({ position }) => position !== undefined)?.position;
  const [drawn] = [...(copied.texts ?? []), ...(copied.shapes ?? [])];
  const taken = hostNames(graph);
  if (placed === undefined && drawn !== undefined) return { kind: "paste", copied, by: { x: step / 4, y: step / 4 }, taken };
  const first = placed ?? { x: 0, y: 0 };
  const free = freePlace(graph, { x: first.x + step / 2, y: first.y + step / 2 });
  return { kind: "paste", copied, by: { x: free.x - first.x, y: free.y - first.y }, taken };
}

/** A part of the drawing that can be moved: a node, network, text or shape. */
interface MovablePart {
  readonly id: string;
  readonly at: Place;
  readonly shape?: LabShape;
}

/** Returns the selected nodes, networks, texts and shapes. */
export function movableParts({ nodes, texts, shapes }: Graph, selected: ReadonlySet<string>): readonly MovablePart[] {
  return [...nodes, ...texts, ...shapes].filter(({ id }) => selected.has(id));
}

/** Shapes are aligned by their middle, as nodes are. */
function middleOf({ at, shape }: MovablePart): Place {
  if (shape === undefined) return at;
  const { width, height } = boxOf(shape);
  const [x, y] = shape.type === "line" ? [(shape.x + shape.x2) / 2, (shape.y + shape.y2) / 2] : [at.x + width / 2, at.y + height / 2];
  return { x, y };
}

function movedTo(part: MovablePart, axis: "x" | "y", middle: number): readonly [id: string, at: Place] {
  return [part.id, { ...part.at, [axis]: Math.round(part.at[axis] + middle - middleOf(part)[axis]) }];
}

/** Returns the positions of the selected parts on one line. @param axis the coordinate that becomes the same */
export function aligned(parts: readonly MovablePart[], axis: "x" | "y"): ReadonlyMap<string, Place> {
  const mean = Math.round(parts.reduce((sum, part) => sum + middleOf(part)[axis], 0) / Math.max(1, parts.length));
  return new Map(parts.map((part) => movedTo(part, axis, mean)));
}

/** Returns the positions of the selected parts at equal distances between the outermost ones. */
export function distributed(parts: readonly MovablePart[], axis: "x" | "y"): ReadonlyMap<string, Place> {
  const sorted = parts.map((part) => ({ part, middle: middleOf(part)[axis] })).sort((a, b) => a.middle - b.middle);
  const [first, last] = [sorted[0]?.middle ?? 0, sorted.at(-1)?.middle ?? 0];
  const gap = sorted.length < 2 ? 0 : (last - first) / (sorted.length - 1);
  return new Map(sorted.map(({ part }, index) => movedTo(part, axis, first + gap * index)));
}

/** Returns the keys and names of the parts on the host. @param but the id of a part that is left out */
export function hostNames({ nodes }: Pick<Graph, "nodes">, but?: string): ReadonlySet<string> {
  return new Set(nodes.flatMap((one) => (isOnHost(one) && one.id !== but ? [one.label, ...(one.key === null ? [] : [one.key])] : [])));
}

/** Whether a node of the text exists on the host under its key. */
export function isOnHost({ id }: Pick<GraphNode, "id">): boolean {
  return !id.startsWith("new:");
}
