import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LiveNodeData } from "../../contract/schemas/observe.ts";
import type { Graph, GraphLink, GraphNode } from "./graph.ts";
import type { Place } from "./layout.ts";

interface TopologyProps {
  readonly graph: Graph;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  readonly selected: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
  /** Enter or a double click on a node. */
  readonly onOpen: (id: string) => void;
}

interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

const margin = 80;

/** The lab drawn. Drag or arrow keys move the picture, wheel or + and − zoom, 0 shows all; nodes are reached by Tab, shown by Space, opened by Enter. */
export function Topology({ graph, live, selected, onSelect, onOpen }: TopologyProps) {
  const svg = useRef<SVGSVGElement>(null);
  const layer = useRef<SVGGElement>(null);
  const view = useRef<View>({ x: 0, y: 0, scale: 1 });
  const [query, setQuery] = useState("");
  const places = useMemo(() => new Map(graph.nodes.map(({ id, at }) => [id, at])), [graph]);

  // The picture is moved by one attribute, without drawing anything anew: that is what keeps large labs smooth.
  const show = (next: View) => {
    view.current = next;
    layer.current?.setAttribute("transform", `translate(${next.x} ${next.y}) scale(${next.scale})`);
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
    if (event.button !== 0 || (event.target as Element).closest(".node") !== null) return;
    const begin = { x: event.clientX - view.current.x, y: event.clientY - view.current.y };
    const element = svg.current!;
    element.setPointerCapture(event.pointerId);
    const move = ({ clientX, clientY }: PointerEvent) => show({ ...view.current, x: clientX - begin.x, y: clientY - begin.y });
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", () => element.removeEventListener("pointermove", move), { once: true });
  };
  const key = (event: KeyboardEvent) => {
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
        <g ref={layer}>
          {graph.links.map((link) => (
            <LinkLine key={link.id} link={link} from={places.get(link.from)!} to={places.get(link.to)!} />
          ))}
          {graph.nodes.map((node) => (
            <NodeShape
              key={node.id}
              node={node}
              status={live.get(node.id)?.status}
              selected={selected === node.id}
              onSelect={onSelect}
              onOpen={onOpen}
            />
          ))}
        </g>
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

function NodeShape({
  node,
  status,
  selected,
  onSelect,
  onOpen,
}: {
  readonly node: GraphNode;
  readonly status: string | undefined;
  readonly selected: boolean;
  readonly onSelect: (id: string) => void;
  readonly onOpen: (id: string) => void;
}) {
  const { id, label, kind, type, at } = node;
  if (kind === "network") {
    return (
      <g class="network" transform={`translate(${at.x} ${at.y})`}>
        <rect x={-36} y={-16} width={72} height={32} rx={16} />
        <text y={4}>{label}</text>
      </g>
    );
  }
  return (
    // In SVG names of attributes have a case: tabIndex would be another.
    // biome-ignore lint/a11y/useSemanticElements: a button cannot stand in a picture
    <g
      class={`node ${status ?? "unknown"}${selected ? " selected" : ""}`}
      transform={`translate(${at.x} ${at.y})`}
      role="button"
      tabindex={0}
      aria-label={`${label}, ${type}, ${status ?? "state unknown"}`}
      aria-pressed={selected}
      onClick={() => onSelect(id)}
      onDblClick={() => onOpen(id)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        if (event.key === "Enter") onOpen(id);
        else onSelect(id);
      }}
    >
      <rect x={-22} y={-22} width={44} height={44} rx={10} />
      <Glyph type={type} />
      <circle class="state" cx={20} cy={-20} r={6} />
      <text y={40}>{label}</text>
    </g>
  );
}

/** What kind of node it is, drawn by us: pictures of a host's own would come from elsewhere. */
function Glyph({ type }: { readonly type: string }) {
  if (type === "router") return <path class="glyph" d="M-12 0H12M-12 0l5-5M-12 0l5 5M12 0l-5-5M12 0l-5 5M0-12v6M0 12v-6" />;
  if (type === "switch") return <path class="glyph" d="M-12-5H10l-5-5M12 5H-10l5 5" />;
  if (type === "pc") return <path class="glyph" d="M-11-10H11V4H-11ZM0 4v6M-6 10H6" />;
  return <path class="glyph" d="M-11-11H11V-2H-11ZM-11 2H11v9H-11ZM-7-6.500h.1M-7 6.500h.1" />;
}

function LinkLine({ link, from, to }: { readonly link: GraphLink; readonly from: Place; readonly to: Place }) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const across = { x: -(to.y - from.y) / length, y: (to.x - from.x) / length };
  const shift = (link.lane - (link.lanes - 1) / 2) * 26;
  const middle = { x: (from.x + to.x) / 2 + across.x * shift * 2, y: (from.y + to.y) / 2 + across.y * shift * 2 };
  const near = (end: Place, other: Place, text: string) => {
    const part = Math.min(0.4, 46 / length);
    return (
      text !== "" && (
        <text
          class="port"
          x={end.x + (other.x - end.x) * part + across.x * (shift + 8)}
          y={end.y + (other.y - end.y) * part + across.y * (shift + 8)}
        >
          {text}
        </text>
      )
    );
  };
  return (
    <g class={`link${link.suspended ? " suspended" : ""}${link.quality === "" ? "" : " shaped"}`}>
      <path d={`M${from.x} ${from.y}Q${middle.x} ${middle.y} ${to.x} ${to.y}`}>
        <title>{[link.key, link.suspended ? "suspended" : "", link.quality].filter(Boolean).join(" – ")}</title>
      </path>
      {near(from, to, link.fromInterface)}
      {near(to, from, link.toInterface)}
      {(link.suspended || link.quality !== "") && (
        <text class="quality" x={(from.x + to.x) / 2 + across.x * shift} y={(from.y + to.y) / 2 + across.y * shift - 6}>
          {link.suspended ? "✕ suspended" : link.quality}
        </text>
      )}
    </g>
  );
}
