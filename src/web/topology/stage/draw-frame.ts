import { boundsOf } from "../../../intent/shapes/shape.ts";
import type { Place } from "../../../layout/layout.ts";
import type { Graph } from "../graph/graph.ts";
import { followPointer } from "./follow-pointer.ts";

export interface Frame {
  readonly stage: HTMLElement;
  readonly graph: Graph;
  readonly placeOf: (event: PointerEvent) => Place;
  /** Called with the nodes, networks and texts within the frame, and the shapes that are completely in it. */
  readonly onDrop: (ids: readonly string[]) => void;
}

/** Draws a frame from the pressed point to the pointer until the button is released. */
export function drawFrame(begin: PointerEvent, { stage, graph, placeOf, onDrop }: Frame): void {
  const frame = document.createElement("div");
  frame.className = "frame";
  const show = (event: PointerEvent) => {
    const { left, top } = stage.getBoundingClientRect();
    frame.style.left = `${Math.min(begin.clientX, event.clientX) - left}px`;
    frame.style.top = `${Math.min(begin.clientY, event.clientY) - top}px`;
    frame.style.width = `${Math.abs(event.clientX - begin.clientX)}px`;
    frame.style.height = `${Math.abs(event.clientY - begin.clientY)}px`;
    if (frame.parentNode === null) stage.append(frame);
  };
  followPointer(begin, {
    onMove: show,
    onDrop: (event) => {
      frame.remove();
      const [a, b] = [placeOf(begin), placeOf(event)];
      const within = (value: number, one: number, other: number) => value >= Math.min(one, other) && value <= Math.max(one, other);
      const holds = (x: number, y: number) => within(x, a.x, b.x) && within(y, a.y, b.y);
      const parts = [...graph.nodes, ...graph.texts].filter(({ at }) => holds(at.x, at.y));
      const shapes = graph.shapes.filter(({ shape }) => {
        const { x, y, width, height } = boundsOf(shape);
        return holds(x, y) && holds(x + width, y + height);
      });
      onDrop([...parts, ...shapes].map(({ id }) => id));
    },
    onCancel: () => frame.remove(),
  });
}
