import type { ComponentType } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { LiveNodeData } from "../../contract/schemas/observe.ts";
import type { Graph, GraphNode } from "./graph/graph.ts";
import type { Place } from "./layout/layout.ts";
import { Search } from "./search.tsx";
import type { View } from "./stage/view.ts";
import { keyCommand, zoomInFactor, zoomOutFactor } from "./topology-keys.ts";
import { usePointer } from "./use-pointer.ts";
import { useShapes } from "./use-shapes.tsx";
import { useStage } from "./use-stage.ts";
import "./topology.css";

/** Properties of a component that draws over the topology and follows its view. */
export interface OverlayProps {
  readonly graph: Graph;
  /** Calls the listener with the current view and with each new view. Returns a function that removes the listener. */
  readonly watchView: (listener: (view: View) => void) => () => void;
}

interface TopologyProps {
  readonly graph: Graph;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  /** A node's id, or "link:" and a link's id. */
  readonly selected: string | undefined;
  /** `byKeyboard`: the selection was made with the keyboard, so the focus should move to the panel that opens. */
  readonly onSelect: (id: string | undefined, byKeyboard: boolean) => void;
  /** Called for Enter or a double click on a node. Absent: Enter and a double click select the node. */
  readonly onOpen?: ((id: string) => void) | undefined;
  /** Absent: nodes cannot be moved. */
  readonly onMove?: ((id: string, at: Place) => void) | undefined;
  readonly Overlay?: ComponentType<OverlayProps> | undefined;
}

/**
 * Draws a lab. Dragging or the arrow keys pan, the wheel or + and − zoom, 0 shows everything. Tab reaches nodes and links, Space selects one, and Enter
 * opens a node. A node is moved by dragging it, or by Alt and the arrow keys.
 */
export function Topology({ graph, live, selected, onSelect, onOpen, onMove, Overlay }: TopologyProps) {
  const [found, setFound] = useState<string>();
  const nodes = useMemo(() => new Map(graph.nodes.map((node) => [node.id, node])), [graph]);
  const stage = useStage(graph);
  const latest = useRef({ onSelect, onOpen });
  latest.current = { onSelect, onOpen };
  const select = (id: string, byKeyboard = false) => latest.current.onSelect(id, byKeyboard);
  const open = (id: string) => (latest.current.onOpen ?? select)(id);
  usePointer(stage, { graph, open, onMove });
  const shapes = useShapes({ graph, nodes, live, selected, found, onSelect: select, onOpen: open });

  const onKeyDown = (event: KeyboardEvent) => {
    const node = nodes.get((event.target as Element).getAttribute("data-node") ?? "");
    const command = keyCommand(event, node !== undefined && onMove !== undefined);
    if (command === undefined) return;
    event.preventDefault();
    if (command.kind === "pan") stage.pan(command.dx, command.dy);
    else if (command.kind === "zoom") stage.zoom(command.by);
    else if (command.kind === "fit") stage.fit();
    else if (command.kind === "deselect") onSelect(undefined, true);
    else if (node !== undefined) onMove?.(node.id, { x: Math.round(node.at.x) + command.dx, y: Math.round(node.at.y) + command.dy });
  };
  /** Brings the node or link that Tab focused into view. */
  const onFocus = (event: FocusEvent) => {
    const target = event.target as Element;
    const at = target.matches(":focus-visible") ? placeOfElement(target, graph, nodes) : undefined;
    if (at !== undefined) stage.reveal(at);
  };
  const showFound = (id: string | undefined) => {
    setFound(id);
    const node = nodes.get(id ?? "");
    if (node !== undefined) stage.centre(node.at);
  };
  return (
    <div class="topology">
      <div class="tools">
        <Search nodes={graph.nodes} onFound={showFound} onChosen={(id) => select(id, true)} />
        <button type="button" onClick={() => stage.zoom(zoomInFactor)} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={() => stage.zoom(zoomOutFactor)} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={stage.fit}>
          Show all
        </button>
      </div>
      <div
        ref={stage.stage}
        class="stage"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys pan it
        tabIndex={0}
        onKeyDown={onKeyDown}
        onFocusIn={onFocus}
        role="application"
        aria-label="Topology of the lab"
      >
        <div ref={stage.layer} class="layer">
          {/* biome-ignore lint/a11y/noSvgWithoutTitle: its shapes have names; a title would be a tooltip over all of them */}
          <svg ref={stage.svg}>
            {graph.texts.map(({ text, at }) => (
              <text key={`${at.x} ${at.y} ${text}`} class="note" x={at.x} y={at.y}>
                {text}
              </text>
            ))}
            {shapes}
          </svg>
        </div>
        {Overlay !== undefined && <Overlay graph={graph} watchView={stage.watchView} />}
      </div>
    </div>
  );
}

/** Returns the position of a node's element, or of the middle of a link's; undefined for any other element. */
function placeOfElement(element: Element, { links }: Graph, nodes: ReadonlyMap<string, GraphNode>): Place | undefined {
  const linkId = element.closest("[data-link]")?.getAttribute("data-link");
  const link = links.find(({ id }) => id === linkId);
  const ends = link === undefined ? [element.getAttribute("data-node") ?? ""] : [link.from, link.to];
  const places = ends.flatMap((id) => nodes.get(id)?.at ?? []);
  if (places.length === 0) return undefined;
  const mean = (of: (place: Place) => number) => places.reduce((sum, place) => sum + of(place), 0) / places.length;
  return { x: mean(({ x }) => x), y: mean(({ y }) => y) };
}
