import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Place } from "../../layout/layout.ts";
import type { Graph } from "./graph/graph.ts";
import { labelGrowth } from "./graph/labels.ts";
import { followMouse } from "./stage/follow-mouse.ts";
import { type PictureLayer, pictureLayer } from "./stage/picture-layer.ts";
import { areaOf, centred, fitted, type Inset, revealing, type Size, showsAll, type View, zoomed } from "./stage/view.ts";

/** Opened tools may cover more, px. */
const maxInset = 100;
/** Opened details of the bar of changes may cover more, px. */
const maxBottom = 120;
/** A lower stage, such as one below a maximised drawer, shows no drawing, px. */
const minHeight = 120;
/** A banner or a second row of a bar changes the height of the stage by less, px. */
const minResize = 80;
/** Part of the width that the palette may cover for the drawing to be fitted beside it. */
const maxCovered = 0.75;

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

/** Returns the element of the bars over the lower edge of a stage; null if there are none. */
function barsOf(stage: HTMLElement): Element | null {
  return stage.closest(".drawing")?.querySelector(":scope > .bars") ?? null;
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
  const size = (): Size => {
    const { clientWidth: width, clientHeight: height } = stage.current!;
    return { width, height };
  };
  /** The part of the stage that the tools and the palette cover. */
  const inset = (): Inset => {
    const { top, left, bottom } = stage.current!.getBoundingClientRect();
    const tools = stage.current!.parentElement!.querySelector(":scope > .tools")?.getBoundingClientRect();
    const palette = stage.current!.closest(".drawing")?.querySelector(":scope > .palette")?.getBoundingClientRect();
    // A result that stands there alone disappears soon.
    const bar = barsOf(stage.current!)?.querySelector(".change-bar:has(> .buttons)")?.getBoundingClientRect();
    const covered = (palette?.right ?? left) - left;
    return {
      top: Math.max(0, Math.min((tools?.bottom ?? top) - top, maxInset)),
      // Beside a palette that leaves hardly any room the drawing would be too small.
      left: covered > size().width * maxCovered ? 0 : covered,
      bottom: Math.max(0, Math.min(bottom - (bar?.top ?? bottom), maxBottom)),
    };
  };
  const fitAll = () => {
    show(fitted(area, size(), inset()));
    isFitted.current = true;
  };
  const latestFit = useRef(fitAll);
  latestFit.current = fitAll;
  /** Fits the drawing if a part of it is not visible. */
  const latestReveal = useRef(() => {});
  latestReveal.current = () => {
    if (!showsAll(graph, view.current, size(), inset())) fitAll();
  };

  useLayoutEffect(() => {
    const created = pictureLayer(layer.current!, { view: fitted(area, size(), inset()), area, growth });
    picture.current = created;
    return () => created.close();
  }, []);
  const isPointedAt = useRef<() => boolean>(() => false);
  useLayoutEffect(() => {
    const ended = new AbortController();
    isPointedAt.current = followMouse(stage.current!, ended.signal);
    return () => ended.abort();
  }, []);
  // The drawing does not move under the pointer of a user who draws or selects, nor when a part is added where it can be seen.
  const countBefore = useRef(0);
  useLayoutEffect(() => {
    const before = countBefore.current;
    countBefore.current = graph.nodes.length;
    if (isPointedAt.current() || size().height < minHeight || (before > 0 && showsAll(graph, view.current, size(), inset()))) return;
    fitAll();
  }, [graph.nodes.length]);
  const fitsNext = useRef(false);
  useLayoutEffect(() => {
    picture.current?.cover(area, growth);
    if (fitsNext.current) fitAll();
    fitsNext.current = false;
  }, [area.left, area.top, area.width, area.height, growth]);
  // A layout effect: the clean-up of useEffect runs only after the next frame, when the stage no longer exists.
  useLayoutEffect(() => {
    const ended = new AbortController();
    let isUsed = false;
    for (const type of ["pointerdown", "keydown"]) addEventListener(type, () => (isUsed = true), { capture: true, signal: ended.signal });
    let fittedTo = size();
    const follow = () => {
      const now = size();
      if (!isFitted.current || isPointedAt.current() || now.height < minHeight) return;
      const isLarge = now.width !== fittedTo.width || Math.abs(now.height - fittedTo.height) >= minResize;
      if (isLarge) latestFit.current();
      // A banner that comes, or a bar that grows while a change runs, does not move what the user looks at.
      else if (!isUsed) latestReveal.current();
      fittedTo = now;
    };
    const resized = new ResizeObserver(follow);
    resized.observe(stage.current!);
    const bars = barsOf(stage.current!);
    if (bars !== null) resized.observe(bars);
    return () => {
      ended.abort();
      resized.disconnect();
    };
  }, []);

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
