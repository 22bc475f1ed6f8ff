import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LiveNodeData } from "../../contract/schemas/observe.ts";
import { dragNode } from "./drag-node.ts";
import type { Graph } from "./graph.ts";
import type { Place } from "./layout.ts";
import { LinkLine } from "./link-line.tsx";
import { NodeShape } from "./node-shape.tsx";
import "./topology.css";

interface TopologyProps {
  readonly graph: Graph;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  /** A node's id, or "link:" and a link's. */
  readonly selected: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
  /** Enter or a double click on a node. Absent: as if it were selected. */
  readonly onOpen?: ((id: string) => void) | undefined;
  /** Absent: nodes stay where they are. */
  readonly onMove?: ((id: string, at: Place) => void) | undefined;
}

interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

const margin = 80;
/** Below this scale the names of interfaces could not be read anyway, and cost time to draw. */
const legible = 0.55;
/** How far Alt and an arrow key move a node. */
const nudge = 20;

/**
 * The lab drawn. Drag or arrow keys move the picture, wheel or + and − zoom, 0 shows all; nodes and links are reached by Tab, shown by Space, nodes
 * opened by Enter. A node is moved by dragging it, or by Alt and arrow keys.
 */
export function Topology({ graph, live, selected, onSelect, onOpen, onMove }: TopologyProps) {
  const svg = useRef<SVGSVGElement>(null);
  const layer = useRef<SVGGElement>(null);
  const view = useRef<View>({ x: 0, y: 0, scale: 1 });
  const [query, setQuery] = useState("");
  const nodes = useMemo(() => new Map(graph.nodes.map((node) => [node.id, node])), [graph]);

  // The picture is moved by one attribute, without drawing anything anew: that is what keeps large labs smooth.
  const show = (next: View) => {
    view.current = next;
    layer.current?.setAttribute("transform", `translate(${next.x} ${next.y}) scale(${next.scale})`);
    svg.current?.classList.toggle("far", next.scale < legible);
  };
  const fit = () => {
    const box = svg.current?.getBoundingClientRect();
    if (box !== undefined) show(fitted(graph, box.width, box.height));
  };
  useEffect(fit, [graph.nodes.length]);

  const zoom = (by: number, at: Place) => {
    const { x, y, scale } = view.current;
    const next = Math.min(4, Math.max(0.05, scale * by));
    show({ scale: next, x: at.x - ((at.x - x) * next) / scale, y: at.y - ((at.y - y) * next) / scale });
  };
  const middle = (): Place => {
    const box = svg.current!.getBoundingClientRect();
    return { x: box.width / 2, y: box.height / 2 };
  };
  useEffect(() => {
    const element = svg.current!;
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const box = element.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY / 500), { x: event.clientX - box.left, y: event.clientY - box.top });
    };
    // Not passive: the page must not scroll meanwhile.
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, []);

  const drag = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const target = event.target as Element;
    const id = target.closest("[data-node]")?.getAttribute("data-node");
    if (id !== null && id !== undefined) {
      const { scale } = view.current;
      if (onMove !== undefined) dragNode(event, { graph, picture: layer.current!, id, scale, onDrop: (at) => onMove(id, at) });
      return;
    }
    if (target.closest("[data-link]") !== null) return;
    const begin = { x: event.clientX - view.current.x, y: event.clientY - view.current.y };
    const element = svg.current!;
    element.setPointerCapture(event.pointerId);
    const move = ({ clientX, clientY }: PointerEvent) => show({ ...view.current, x: clientX - begin.x, y: clientY - begin.y });
    element.addEventListener("pointermove", move);
    const over = () => element.removeEventListener("pointermove", move);
    element.addEventListener("pointerup", over, { once: true });
    element.addEventListener("pointercancel", over, { once: true });
  };
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
    const { x, y } = view.current;
    const moves: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => show({ ...view.current, x: x + 40 }),
      ArrowRight: () => show({ ...view.current, x: x - 40 }),
      ArrowUp: () => show({ ...view.current, y: y + 40 }),
      ArrowDown: () => show({ ...view.current, y: y - 40 }),
      "+": () => zoom(1.25, middle()),
      "-": () => zoom(0.8, middle()),
      "0": fit,
      Escape: () => onSelect(undefined),
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    move();
  };
  const find = (text: string) => {
    setQuery(text);
    const found = text === "" ? undefined : graph.nodes.find(({ label }) => label.toLowerCase().includes(text.toLowerCase()));
    if (found === undefined) return;
    const { x, y } = middle();
    const scale = Math.max(view.current.scale, 0.8);
    show({ scale, x: x - found.at.x * scale, y: y - found.at.y * scale });
    if (found.kind === "node") onSelect(found.id);
  };

  const acts = useRef({ onSelect, onOpen });
  acts.current = { onSelect, onOpen };
  const select = (id: string) => acts.current.onSelect(id);
  const open = (id: string) => (acts.current.onOpen ?? acts.current.onSelect)(id);
  // The same elements as before are not compared again.
  const shapes = useMemo(
    () => [
      ...graph.links.map((link) => (
        <LinkLine
          key={`link:${link.id}`}
          link={link}
          from={nodes.get(link.from)!}
          to={nodes.get(link.to)!}
          selected={selected === `link:${link.id}`}
          onSelect={select}
        />
      )),
      ...graph.nodes.map((node) => (
        <NodeShape
          key={node.id}
          node={node}
          status={live.get(node.id)?.status}
          selected={selected === node.id}
          onSelect={select}
          onOpen={open}
        />
      )),
    ],
    [graph, live, selected],
  );

  return (
    <div class="topology">
      <div class="tools">
        <input
          type="search"
          placeholder="Find a node"
          aria-label="Find a node"
          value={query}
          onInput={(event) => find(event.currentTarget.value)}
        />
        <button type="button" onClick={() => zoom(1.25, middle())} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={() => zoom(0.8, middle())} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={fit}>
          Show all
        </button>
      </div>
      <svg ref={svg} tabindex={0} onPointerDown={drag} onKeyDown={key} role="application" aria-label="Topology of the lab">
        <g ref={layer}>{shapes}</g>
      </svg>
    </div>
  );
}

function fitted({ nodes }: Graph, width: number, height: number): View {
  if (nodes.length === 0) return { x: 0, y: 0, scale: 1 };
  const xs = nodes.map(({ at }) => at.x);
  const ys = nodes.map(({ at }) => at.y);
  const left = Math.min(...xs) - margin;
  const top = Math.min(...ys) - margin;
  const right = Math.max(...xs) + margin;
  const bottom = Math.max(...ys) + margin;
  const scale = Math.min(1.5, width / (right - left), height / (bottom - top));
  return { scale, x: (width - (left + right) * scale) / 2, y: (height - (top + bottom) * scale) / 2 };
}
