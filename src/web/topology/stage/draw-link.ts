import type { Place } from "../../../layout/layout.ts";
import { followPointer } from "./follow-pointer.ts";

export interface LinkDraft {
  readonly picture: SVGSVGElement;
  /** The node whose plug was pressed, and its position. */
  readonly from: string;
  readonly at: Place;
  /** Returns the position in the drawing of a point of the window. */
  readonly placeOf: (event: PointerEvent) => Place;
  /** Called with the node or network on which the pointer was released. */
  readonly onDrop: (to: string) => void;
}

/** Draws a line from a node to the pointer until the button is released. */
export function drawLink(begin: PointerEvent, { picture, from, at, placeOf, onDrop }: LinkDraft): void {
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  line.setAttribute("class", "new-link");
  line.setAttribute("x1", String(at.x));
  line.setAttribute("y1", String(at.y));
  const show = (event: PointerEvent) => {
    const { x, y } = placeOf(event);
    line.setAttribute("x2", String(x));
    line.setAttribute("y2", String(y));
    if (line.parentNode === null) picture.append(line);
  };
  followPointer(begin, {
    onMove: show,
    onDrop: (event) => {
      line.remove();
      const to = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-node]")?.getAttribute("data-node");
      if (typeof to === "string" && to !== from) onDrop(to);
    },
    onCancel: () => line.remove(),
  });
}
