import type { LinkShape } from "../graph/link-shape.ts";

/** Redraws an existing link without rendering its component, while a node is dragged. */
export function redrawLink(group: Element, { line, fromPort, toPort, note, middle, packets }: LinkShape): void {
  for (const path of group.querySelectorAll(".hit, .line")) path.setAttribute("d", line);
  const move = (text: Element | null | undefined, { x, y }: { readonly x: number; readonly y: number }) => {
    text?.setAttribute("x", String(x));
    text?.setAttribute("y", String(y));
  };
  const ports = group.querySelectorAll(".port");
  move(ports[0], fromPort);
  move(ports[1], toPort);
  for (const [part, { x, y }] of [
    [".quality", note],
    [".sign", middle],
    [".packets", packets],
  ] as const)
    group.querySelector(part)?.setAttribute("transform", `translate(${x} ${y})`);
}
