import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Place } from "../../layout/layout.ts";
import type { Graph } from "./graph/graph.ts";
import { labelGrowth } from "./graph/labels.ts";
import { type PictureLayer, pictureLayer } from "./stage/picture-layer.ts";
import { coveredOf, minHeight, sizeOf } from "./stage/stage-size.ts";
import { areaOf, centred, fitted, revealing, showsAll, type View, zoomed } from "./stage/view.ts";
import { useStageSize } from "./use-stage-size.ts";

/** The stage that shows the drawing, and the functions that change its view. */
export interface Stage {
  readonly stage: RefObject<HTMLDivElement | null>;
  readonly layer: RefObject<HTMLDivElement | null>;
  /** The drawing of the links, below that of the nodes. */
  readonly svg: RefObject<SVGSVGElement | null>;
  readonly view: () => View;
  readonly show: (view: View) => void;
  readonly pan: (dx: number, dy: number) => void;
  /** Zooms around the middle of the stage. */
  readonly zoom: (by: number) => void;
  /** Shows the whole drawing, also after the stage changes its size, until the view is changed otherwise. */
  readonly fit: () => void;
  /** Shows the whole drawing when its area changes next, after an edit that moves all of it. */
  readonly fitNext: () => void;
  readonly centre: (at: Place) => void;
  readonly reveal: (at: Place) => void;
  /** Returns the position in the drawing of a point of the window. */
  readonly placeAt: (clientX: number, clientY: number) => Place;
  /** Returns the position in the drawing of the middle of the stage. */
  readonly middle: () => Place;
  /** Calls the listener with the current view and with each new view. Returns a function that removes the listener. */
  readonly watchView: (listener: (view: View) => void) => () => void;
}

/** Keeps the view outside of the component's state: a pan or zoom must not render anything. */
export function useStage(graph: Graph): Stage {
  const stage = useRef<HTMLDivElement>(null);
  const layer = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const picture = useRef<PictureLayer>(undefined);
  const view = useRef<View>({ x: 0, y: 0, scale: 1 });
  /** Whether the view shows the whole drawing, and so follows the size of the stage. */
  const isFitted = useRef(true);
  const listeners = useRef(new Set<(view: View) => void>());
  const area = useMemo(() => areaOf(graph), [graph]);
  const growth = useMemo(() => labelGrowth(graph.nodes), [graph]);

  const show = (next: View) => {
    view.current = next;
    isFitted.current = false;
    picture.current?.show(next);
    for (const listener of listeners.current) listener(next);
  };
  const size = () => sizeOf(stage.current!);
  const fitAll = () => {
    show(fitted(area, size(), coveredOf(stage.current!)));
    isFitted.current = true;
  };
  useLayoutEffect(() => {
    const created = pictureLayer(layer.current!, { view: fitted(area, size(), coveredOf(stage.current!)), area, growth });
    picture.current = created;
    return () => created.close();
  }, []);
  const showsGraph = () => showsAll(graph, view.current, size(), coveredOf(stage.current!));
  const isPointedAt = useStageSize(stage, { isFitted, fitAll, showsGraph });
  // The drawing does not move under the pointer of a user who draws or selects, nor when a part is added where it can be seen.
  const countBefore = useRef(0);
  useLayoutEffect(() => {
    const before = countBefore.current;
    countBefore.current = graph.nodes.length;
    if (isPointedAt.current?.() === true || size().height < minHeight || (before > 0 && showsGraph())) return;
    fitAll();
  }, [graph.nodes.length]);
  const fitsNext = useRef(false);
  useLayoutEffect(() => {
    picture.current?.cover(area, growth);
    if (fitsNext.current) fitAll();
    fitsNext.current = false;
  }, [area.left, area.top, area.width, area.height, growth]);

  const placeAt = (clientX: number, clientY: number): Place => {
    const { left, top } = stage.current!.getBoundingClientRect();
    const { x, y, scale } = view.current;
    return { x: (clientX - left - x) / scale, y: (clientY - top - y) / scale };
  };
  return {
    stage,
    layer,
    placeAt,
    middle: () => {
      const { left, top } = stage.current!.getBoundingClientRect();
      return placeAt(left + size().width / 2, top + size().height / 2);
    },
    svg,
    view: () => view.current,
    show,
    pan: (dx, dy) => show({ scale: view.current.scale, x: view.current.x + dx, y: view.current.y + dy }),
    zoom: (by) => show(zoomed(view.current, by, { x: size().width / 2, y: size().height / 2 })),
    fit: fitAll,
    fitNext: () => {
      fitsNext.current = true;
    },
    centre: (at) => show(centred(view.current, at, size())),
    reveal: (at) => {
      const next = revealing(view.current, at, size());
      if (next.x !== view.current.x || next.y !== view.current.y) show(next);
    },
    watchView: (listener) => {
      listeners.current.add(listener);
      listener(view.current);
      return () => void listeners.current.delete(listener);
    },
  };
}
