import type { Graph } from "../graph/graph.ts";
import { linkShape } from "../graph/link-shape.ts";
import type { Place } from "../layout/layout.ts";
import { redrawLink } from "./redraw-link.ts";

export interface Drag {
  readonly graph: Graph;
  readonly picture: Element;
  readonly id: string;
  /** Screen pixels per pixel of the drawing. */
  readonly scale: number;
  /** Called with the position of the drop. Not called for a click without a move, nor for a cancelled drag. */
  readonly onDrop: (at: Place) => void;
}

/** A pointer that moves less than this, px, is a click and not a drag. */
const threshold = 4;

/** Moves a node with the pointer until the button is released. Only the node and its links are redrawn, so that it stays smooth in large labs. */
export function dragNode(begin: PointerEvent, { graph, picture, id, scale, onDrop }: Drag): void {
  const node = graph.nodes.find((one) => one.id === id);
  const shape = [...picture.querySelectorAll("[data-node]")].find((one) => one.getAttribute("data-node") === id);
  if (node === undefined || shape === undefined) return;
  const byId = new Map(graph.nodes.map((one) => [one.id, one]));
  const groups = new Map([...picture.querySelectorAll("[data-link]")].map((group) => [group.getAttribute("data-link"), group]));
  const links = graph.links.filter(({ from, to }) => from === id || to === id);
  const show = (at: Place) => {
    shape.setAttribute("transform", `translate(${at.x} ${at.y})`);
    const end = (other: string) => (other === id ? { ...node, at } : byId.get(other)!);
    for (const link of links) {
      const group = groups.get(link.id);
      if (group !== undefined) redrawLink(group, linkShape(link, end(link.from), end(link.to)));
    }
  };
  const placeOf = ({ clientX, clientY }: PointerEvent): Place => ({
    x: Math.round(node.at.x + (clientX - begin.clientX) / scale),
    y: Math.round(node.at.y + (clientY - begin.clientY) / scale),
  });
  let moving = false;
  const ended = new AbortController();
  const { signal } = ended;
  const cancel = () => {
    ended.abort();
    if (moving) show(node.at);
  };
  const move = (event: PointerEvent) => {
    if (event.pointerId !== begin.pointerId) return;
    moving ||= Math.hypot(event.clientX - begin.clientX, event.clientY - begin.clientY) > threshold;
    if (moving) show(placeOf(event));
  };
  const drop = (event: PointerEvent) => {
    if (event.pointerId !== begin.pointerId) return;
    ended.abort();
    if (!moving) return;
    // The browser sends a click after the drop, which must not select anything.
    const click = new AbortController();
    addEventListener("click", (event) => event.stopPropagation(), { capture: true, signal: click.signal });
    setTimeout(() => click.abort(), 0);
    onDrop(placeOf(event));
  };
  addEventListener("pointermove", move, { signal });
  addEventListener("pointerup", drop, { signal });
  addEventListener("pointercancel", cancel, { signal });
  addEventListener("keydown", (event) => event.key === "Escape" && cancel(), { signal });
}
