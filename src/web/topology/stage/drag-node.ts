import type { Place } from "../../../layout/layout.ts";
import type { Graph } from "../graph/graph.ts";
import { linkShape } from "../graph/link-shape.ts";
import { followPointer } from "./follow-pointer.ts";
import { redrawLink } from "./redraw-link.ts";

export interface Drag {
  readonly graph: Graph;
  readonly picture: Element;
  /** The nodes that move together. */
  readonly ids: ReadonlySet<string>;
  /** Screen pixels per pixel of the drawing. */
  readonly scale: number;
  /** Called with the positions of the drop. Not called for a click without a move, nor for a cancelled drag. */
  readonly onDrop: (places: ReadonlyMap<string, Place>) => void;
}

/** Moves nodes with the pointer until the button is released. Only they and their links are redrawn, so that it stays smooth in large labs. */
export function dragNodes(begin: PointerEvent, { graph, picture, ids, scale, onDrop }: Drag): void {
  const moving = [...graph.nodes, ...graph.texts, ...graph.shapes].filter(({ id }) => ids.has(id));
  const shapes = new Map([...picture.querySelectorAll("[data-node]")].map((shape) => [shape.getAttribute("data-node"), shape]));
  const handles = new Map([...picture.querySelectorAll("[data-handles]")].map((group) => [group.getAttribute("data-handles"), group]));
  const groups = new Map([...picture.querySelectorAll("[data-link]")].map((group) => [group.getAttribute("data-link"), group]));
  const byId = new Map(graph.nodes.map((one) => [one.id, one]));
  const links = graph.links.filter(({ from, to }) => ids.has(from) || ids.has(to));
  const placesAt = (x: number, y: number): ReadonlyMap<string, Place> =>
    new Map(moving.map(({ id, at }) => [id, { x: Math.round(at.x + x / scale), y: Math.round(at.y + y / scale) }]));
  const show = (places: ReadonlyMap<string, Place>) => {
    for (const [id, { x, y }] of places) {
      for (const group of [shapes.get(id), handles.get(id)]) {
        // A turned shape stays turned.
        const before = group?.getAttribute("transform") ?? "";
        group?.setAttribute("transform", `translate(${x} ${y})${before.replace(/^translate\([^)]*\)/, "")}`);
      }
    }
    const end = (id: string) => ({ ...byId.get(id)!, at: places.get(id) ?? byId.get(id)!.at });
    for (const link of links) {
      const group = groups.get(link.id);
      if (group !== undefined) redrawLink(group, linkShape(link, end(link.from), end(link.to)));
    }
  };
  followPointer(begin, {
    onMove: (event) => show(placesAt(event.clientX - begin.clientX, event.clientY - begin.clientY)),
    onDrop: (event) => onDrop(placesAt(event.clientX - begin.clientX, event.clientY - begin.clientY)),
    onCancel: () => show(placesAt(0, 0)),
  });
}
