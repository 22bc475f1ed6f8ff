import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import type { Place } from "../../layout/layout.ts";
import type { Graph } from "../topology/graph/graph.ts";
import { type LinkCurve, placeOn } from "../topology/graph/link-shape.ts";
import type { View } from "../topology/stage/view.ts";
import { toScreen } from "./draw-traffic.ts";
import { linkAt } from "./link-at.ts";

/** A tooltip with the rates of a link. */
export interface TrafficTip {
  /** Key of the link. */
  readonly link: string;
  /** Position on the stage, px. */
  readonly at: Place;
  /** Whether the tooltip is on the left of its position. */
  readonly leftwards: boolean;
}

/** Maximum distance between pointer and link, px of the screen. */
const maxHoverDistance = 10;

interface TipInput {
  readonly canvas: RefObject<HTMLCanvasElement | null>;
  readonly graph: Graph;
  readonly view: { readonly current: View };
  /** The curves of the latest render. */
  readonly curves: { readonly current: ReadonlyMap<string, LinkCurve> };
}

/** Returns the tooltip for the link under the pointer, or else for the link with the focus. */
export function useTrafficTip({ canvas, graph, view, curves }: TipInput): TrafficTip | undefined {
  const [pointed, setPointed] = useState<TrafficTip>();
  const [focused, setFocused] = useState<TrafficTip>();
  useLayoutEffect(() => {
    const stage = canvas.current!.parentElement!;
    const ended = new AbortController();
    const { signal } = ended;
    const tipOf = (link: string, at: Place): TrafficTip => ({ link, at, leftwards: at.x > stage.clientWidth / 2 });
    const onMove = ({ clientX, clientY, buttons }: PointerEvent) => {
      const { left, top } = stage.getBoundingClientRect();
      const at = { x: clientX - left, y: clientY - top };
      const { x, y, scale } = view.current;
      const inDrawing = { x: (at.x - x) / scale, y: (at.y - y) / scale };
      const link = buttons === 0 ? linkAt(curves.current, inDrawing, maxHoverDistance / scale) : undefined;
      setPointed((before) => (link === undefined ? undefined : before?.link === link ? before : tipOf(link, at)));
    };
    const onFocus = ({ target }: FocusEvent) => {
      const id = (target as Element).closest("[data-link]")?.getAttribute("data-link");
      const link = graph.links.find((one) => one.id === id)?.key;
      const curve = link === undefined ? undefined : curves.current.get(link);
      if (link === undefined || curve === undefined) return setFocused(undefined);
      setFocused(tipOf(link, toScreen(view.current, placeOn(curve, 0.5))));
    };
    stage.addEventListener("pointermove", onMove, { signal });
    stage.addEventListener("pointerleave", () => setPointed(undefined), { signal });
    stage.addEventListener("focusin", onFocus, { signal });
    stage.addEventListener("focusout", () => setFocused(undefined), { signal });
    return () => ended.abort();
  }, [graph]);
  return pointed ?? focused;
}
