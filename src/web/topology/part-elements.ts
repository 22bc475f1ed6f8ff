import type { Place } from "../../layout/layout.ts";
import type { Graph, GraphNode } from "./graph/graph.ts";

/** From elements of the drawing to the parts that they draw. */

/** Returns the id of a node, or "link:" and that of a link; undefined for an element of neither. */
export function shapeIdOf(element: Element): string | undefined {
  const shape = element.closest("[data-node], [data-link]");
  const link = shape?.getAttribute("data-link");
  return typeof link === "string" ? `link:${link}` : (shape?.getAttribute("data-node") ?? undefined);
}

/** Returns the shape of a right click or of the menu key, and the place for the menu. */
export function menuAt({ target, clientX, clientY }: MouseEvent): {
  readonly id: string | undefined;
  readonly x: number;
  readonly y: number;
} {
  const shape = (target as Element).closest("[data-node], [data-link]");
  const id = shapeIdOf(target as Element);
  // The menu key has no position of its own in some browsers.
  if (clientX > 0 || clientY > 0 || shape == null) return { id, x: clientX, y: clientY };
  const { left, bottom } = shape.getBoundingClientRect();
  return { id, x: left, y: bottom };
}

/** Returns the position of a node's element, or of the middle of a link's; undefined for any other element. */
export function placeOfElement(element: Element, { links }: Graph, nodes: ReadonlyMap<string, GraphNode>): Place | undefined {
  const linkId = element.closest("[data-link]")?.getAttribute("data-link");
  const link = links.find(({ id }) => id === linkId);
  const ends = link === undefined ? [element.getAttribute("data-node") ?? ""] : [link.from, link.to];
  const places = ends.flatMap((id) => nodes.get(id)?.at ?? []);
  if (places.length === 0) return undefined;
  const mean = (of: (place: Place) => number) => places.reduce((sum, place) => sum + of(place), 0) / places.length;
  return { x: mean(({ x }) => x), y: mean(({ y }) => y) };
}
