import type { ComponentType, VNode } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LiveNodeData } from "../../contract/schemas/observe.ts";
import { onDoubleClick } from "./stage/double-click.ts";
import { dragNode } from "./stage/drag-node.ts";
import type { Graph } from "./graph/graph.ts";
import { handOn } from "./stage/pan-zoom.ts";
import { keepSame } from "./memo-by-key.ts";
import type { Place } from "./layout/layout.ts";
import { LinkLine } from "./link-line.tsx";
import { linkShapes } from "./graph/link-shapes.ts";
import { NodeShape } from "./node-shape.tsx";
import { Search } from "./search.tsx";
import { type Sheet, sheetOf } from "./stage/picture-layer.ts";
import { areaOf, centred, fitted, revealing, type Size, type View, zoomed } from "./stage/view.ts";
import "./topology.css";

/** What lies over the picture and moves with it. */
export interface OverlayProps {
  readonly graph: Graph;
  /** Tells the view now and each time it changes. Answers the function that ends it. */
  readonly watchView: (told: (view: View) => void) => () => void;
}

interface TopologyProps {
  readonly graph: Graph;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  /** A node's id, or "link:" and a link's. */
  readonly selected: string | undefined;
  /** `byKeys`: with the keyboard, whose user should not have to look for what opens. */
  readonly onSelect: (id: string | undefined, byKeys: boolean) => void;
  /** Enter or a double click on a node. Absent: as if it were selected. */
  readonly onOpen?: ((id: string) => void) | undefined;
  /** Absent: nodes stay where they are. */
  readonly onMove?: ((id: string, at: Place) => void) | undefined;
  readonly Overlay?: ComponentType<OverlayProps> | undefined;
}

/** How far Alt and an arrow key move a node, and an arrow key alone the picture; px. */
const nudge = 20;
const stride = 40;

/**
 * The lab drawn. Drag or arrow keys move the picture, wheel or + and − zoom, 0 shows all; nodes and links are reached by Tab, shown by Space, nodes
 * opened by Enter. A node is moved by dragging it, or by Alt and arrow keys.
 */
export function Topology({ graph, live, selected, onSelect, onOpen, onMove, Overlay }: TopologyProps) {
  const stage = useRef<HTMLDivElement>(null);
  const layer = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const sheet = useRef<Sheet>(undefined);
  const view = useRef<View>({ x: 0, y: 0, scale: 1 });
  /** The view is that of all of the picture: it stays so while the stage changes its size. */
  const whole = useRef(true);
  const watching = useRef(new Set<(view: View) => void>());
  const [found, setFound] = useState<string>();
  const nodes = useMemo(() => new Map(graph.nodes.map((node) => [node.id, node])), [graph]);
  const drawn = useMemo(() => linkShapes(graph.links, nodes), [graph]);
  const area = useMemo(() => areaOf(graph), [graph]);

  const show = (next: View) => {
    view.current = next;
    whole.current = false;
    sheet.current?.show(next);
    for (const told of watching.current) told(next);
  };
  const size = (): Size => {
    const { clientWidth: width, clientHeight: height } = stage.current!;
    return { width, height };
  };
  const middle = (): Place => ({ x: size().width / 2, y: size().height / 2 });
  const zoom = (by: number) => show(zoomed(view.current, by, middle()));
  const fit = () => {
    show(fitted(area, size()));
    whole.current = true;
  };
  const watchView = (told: (view: View) => void) => {
    watching.current.add(told);
    told(view.current);
    return () => void watching.current.delete(told);
  };

  useLayoutEffect(() => {
    const made = sheetOf(layer.current!, svg.current!, { view: fitted(area, size()), area });
    sheet.current = made;
    return () => made.close();
  }, []);
  useLayoutEffect(fit, [graph.nodes.length]);
  useLayoutEffect(() => sheet.current?.cover(area), [area.left, area.top, area.width, area.height]);

  const acts = useRef({ onSelect, onOpen });
  acts.current = { onSelect, onOpen };
  const select = (id: string, byKeys = false) => acts.current.onSelect(id, byKeys);
  const open = (id: string) => (acts.current.onOpen ?? select)(id);

  // What is heard below is of now, not of when it began to be heard.
  const opened = (id: string) => graph.nodes.some((node) => node.id === id && node.kind === "node") && open(id);
  const now = useRef({ graph, onMove, fit, open: opened });
  now.current = { graph, onMove, fit, open: opened };
  // Not useEffect: what that began ends only after the next frame, when the stage is gone.
  useLayoutEffect(() => {
    const press = (event: PointerEvent): boolean => {
      const target = event.target as Element;
      const id = target.closest("[data-node]")?.getAttribute("data-node");
      const { graph, onMove } = now.current;
      if (typeof id === "string" && onMove !== undefined) {
        dragNode(event, { graph, picture: svg.current!, id, scale: view.current.scale, onDrop: (at) => onMove(id, at) });
      }
      return typeof id === "string" || target.closest("[data-link]") !== null;
    };
    const letGo = handOn(stage.current!, { view: () => view.current, show, press });
    const unlisten = onDoubleClick(stage.current!, (id) => now.current.open(id));
    const resized = new ResizeObserver(() => whole.current && now.current.fit());
    resized.observe(stage.current!);
    return () => {
      letGo();
      unlisten();
      resized.disconnect();
    };
  }, []);

  const nudged = (event: KeyboardEvent): boolean => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const node = nodes.get((event.target as Element).getAttribute("data-node") ?? "");
    if (!event.altKey || by === undefined || node === undefined || onMove === undefined) return false;
    onMove(node.id, { x: Math.round(node.at.x) + by[0]! * nudge, y: Math.round(node.at.y) + by[1]! * nudge });
    return true;
  };
  const key = (event: KeyboardEvent) => {
    if (nudged(event)) {
      event.preventDefault();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { x, y, scale } = view.current;
    const moves: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => show({ scale, y, x: x + stride }),
      ArrowRight: () => show({ scale, y, x: x - stride }),
      ArrowUp: () => show({ scale, x, y: y + stride }),
      ArrowDown: () => show({ scale, x, y: y - stride }),
      "+": () => zoom(1.25),
      "-": () => zoom(0.8),
      "0": fit,
      Escape: () => onSelect(undefined, true),
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    move();
  };
  /** Who goes through the picture by Tab sees where. */
  const reveal = (event: FocusEvent) => {
    const target = event.target as Element;
    if (!target.matches(":focus-visible")) return;
    const link = graph.links.find(({ id }) => id === target.closest("[data-link]")?.getAttribute("data-link"));
    const ends = link === undefined ? [target.getAttribute("data-node") ?? ""] : [link.from, link.to];
    const places = ends.flatMap((id) => nodes.get(id)?.at ?? []);
    if (places.length === 0) return;
    const mean = (of: (place: Place) => number) => places.reduce((sum, place) => sum + of(place), 0) / places.length;
    show(revealing(view.current, { x: mean(({ x }) => x), y: mean(({ y }) => y) }, size()));
  };
  const goTo = (id: string | undefined) => {
    setFound(id);
    const node = nodes.get(id ?? "");
    if (node !== undefined) show(centred(view.current, node.at, size()));
  };

  // A shape that is asked for with the same as before is the same as before, and is not compared again: each look at the lab makes all of its data anew.
  const kept = useMemo(() => keepSame<VNode>(), []);
  const shapes = useMemo(
    () => [
      ...graph.links.map((link) => {
        const [shape, id] = [drawn.get(link.id)!, `link:${link.id}`];
        const marked = selected === id;
        return kept(id, [JSON.stringify([link, shape]), marked], () => (
          <LinkLine key={id} link={link} shape={shape} selected={marked} onSelect={select} />
        ));
      }),
      ...graph.nodes.map((node) => {
        const [status, marked, hit] = [live.get(node.id)?.status, selected === node.id, found === node.id];
        return kept(node.id, [JSON.stringify(node), status, marked, hit], () => (
          <NodeShape key={node.id} node={node} status={status} selected={marked} found={hit} onSelect={select} onOpen={open} />
        ));
      }),
    ],
    [graph, live, selected, found],
  );

  return (
    <div class="topology">
      <div class="tools">
        <Search nodes={graph.nodes} onFound={goTo} onChosen={(id) => select(id, true)} />
        <button type="button" onClick={() => zoom(1.25)} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={() => zoom(0.8)} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={fit}>
          Show all
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: its keys move the picture */}
      <div ref={stage} class="stage" tabIndex={0} onKeyDown={key} onFocusIn={reveal} role="application" aria-label="Topology of the lab">
        <div ref={layer} class="layer">
          {/* biome-ignore lint/a11y/noSvgWithoutTitle: what it shows has names of its own; a title would hover over all of it */}
          <svg ref={svg}>
            {graph.texts.map(({ text, at }) => (
              <text key={`${at.x} ${at.y} ${text}`} class="note" x={at.x} y={at.y}>
                {text}
              </text>
            ))}
            {shapes}
          </svg>
        </div>
        {Overlay !== undefined && <Overlay graph={graph} watchView={watchView} />}
      </div>
    </div>
  );
}
