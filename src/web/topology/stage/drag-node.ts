import type { Graph } from "../graph/graph.ts";
import type { Place } from "../layout/layout.ts";
import { redraw } from "../link-line.tsx";
import { linkShape } from "../graph/link-shape.ts";

export interface Drag {
  readonly graph: Graph;
  readonly picture: Element;
  readonly id: string;
  /** Pixels of the screen for one of the picture. */
  readonly scale: number;
  /** Told where it was dropped; not told of a press that moved nothing, nor of one given up. */
  readonly onDrop: (at: Place) => void;
}

/** A press that moves less, px, is a click. */
const threshold = 4;

/** Moves a node with the pointer until it is let go. Only what hangs on it is drawn anew, so that it stays smooth in large labs. */
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
      if (group !== undefined) redraw(group, linkShape(link, end(link.from), end(link.to)));
    }
  };
  const placeOf = ({ clientX, clientY }: PointerEvent): Place => ({
    x: Math.round(node.at.x + (clientX - begin.clientX) / scale),
    y: Math.round(node.at.y + (clientY - begin.clientY) / scale),
  });
  let moving = false;
  const over = new AbortController();
  const { signal } = over;
  const giveUp = () => {
    over.abort();
    if (moving) show(node.at);
  };
  const move = (event: PointerEvent) => {
    if (event.pointerId !== begin.pointerId) return;
    moving ||= Math.hypot(event.clientX - begin.clientX, event.clientY - begin.clientY) > threshold;
    if (moving) show(placeOf(event));
  };
  const drop = (event: PointerEvent) => {
    if (event.pointerId !== begin.pointerId) return;
    over.abort();
    if (!moving) return;
    // The click that follows belongs to the drag.
    const click = new AbortController();
    addEventListener("click", (event) => event.stopPropagation(), { capture: true, signal: click.signal });
    setTimeout(() => click.abort(), 0);
    onDrop(placeOf(event));
  };
  addEventListener("pointermove", move, { signal });
  addEventListener("pointerup", drop, { signal });
  addEventListener("pointercancel", giveUp, { signal });
  addEventListener("keydown", (event) => event.key === "Escape" && giveUp(), { signal });
}
