import type { LinkShape } from "../graph/link-shape.ts";

/** Redraws an existing link without rendering its component, while a node is dragged. */
export function redrawLink(group: Element, { line, fromPort, toPort, note }: LinkShape): void {
  for (const path of group.querySelectorAll("path")) path.setAttribute("d", line);
  const move = (text: Element | null | undefined, { x, y }: { readonly x: number; readonly y: number }) => {
    text?.setAttribute("x", String(x));
    text?.setAttribute("y", String(y));
  };
  const ports = group.querySelectorAll(".port");
  move(ports[0], fromPort);
  move(ports[1], toPort);
  group.querySelector(".quality")?.setAttribute("transform", `translate(${note.x} ${note.y})`);
}
