import type { ComponentChildren, ComponentType, RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LiveNodeData } from "../../contract/schemas/observe.ts";
import type { LabShape } from "../../intent/shapes/shape.ts";
import type { Place } from "../../layout/layout.ts";
import type { Graph, GraphNode } from "./graph/graph.ts";
import { NoteShape } from "./note-shape.tsx";
import { Search } from "./search.tsx";
import { ShapeHandles, ShapeMark } from "./shape-mark.tsx";
import { resizedShape } from "./shapes/shapes.ts";
import type { View } from "./stage/view.ts";
import { keyCommand, zoomInFactor, zoomOutFactor } from "./topology-keys.ts";
import { usePointer } from "./use-pointer.ts";
import { type SelectHow, useShapes } from "./use-shapes.tsx";
import { useStage } from "./use-stage.ts";
import "./topology.css";

/** Properties of a component that draws over the topology and follows its view. */
export interface OverlayProps {
  readonly graph: Graph;
  /** Calls the listener with the current view and with each new view. Returns a function that removes the listener. */
  readonly watchView: (listener: (view: View) => void) => () => void;
}

/** Converts points of the window to positions in the drawing. */
export interface DrawingPlaces {
  /** undefined: the point is outside of the drawing. */
  readonly placeAt: (clientX: number, clientY: number) => Place | undefined;
  readonly middle: () => Place;
  /** Shows the whole drawing after its next change. */
  readonly fitNext: () => void;
}

/** Edits of the drawing; absent functions: not allowed. */
export interface TopologyEdits {
  readonly onMove?: ((places: ReadonlyMap<string, Place>) => void) | undefined;
  readonly onLink?: ((from: string, to: string) => void) | undefined;
  /** The shape that a press in the drawing draws; undefined: none. */
  readonly pen?: LabShape["type"] | undefined;
  readonly onDraw?: ((shape: LabShape) => void) | undefined;
  readonly onResize?: ((id: string, shape: LabShape) => void) | undefined;
  readonly onFrame?: ((ids: readonly string[]) => void) | undefined;
  /**
   * Called for keys that the drawing itself does not use, with the id of the focused part: of a node, or "link:" and that of a link. Returns true if it
   * used the key.
   */
  readonly onKey?: ((event: KeyboardEvent, focused: string | undefined) => boolean) | undefined;
  /** Called for a right click or the menu key. The id is that of a node, or "link:" and that of a link. */
  readonly onMenu?: ((menu: { readonly id: string | undefined; readonly x: number; readonly y: number }) => void) | undefined;
}

interface TopologyProps extends TopologyEdits {
  readonly graph: Graph;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  /** Ids of nodes, and "link:" and the id of links. */
  readonly selected?: ReadonlySet<string>;
  readonly onSelect: (id: string | undefined, how: SelectHow) => void;
  /** Called for Enter or a double click on a node. Absent: Enter and a double click select the node. */
  readonly onOpen?: ((id: string) => void) | undefined;
  readonly Overlay?: ComponentType<OverlayProps> | undefined;
  /** Keys of the links that are captured now. */
  readonly captured?: ReadonlySet<string>;
  /** Shows the packets of a link, by its id. Absent: not allowed. */
  readonly onPackets?: ((id: string) => void) | undefined;
  /** Set while the drawing is shown. */
  readonly places?: RefObject<DrawingPlaces | null>;
  /** Further tools above the drawing. */
  readonly tools?: ComponentChildren;
}

const nothing: ReadonlySet<string> = new Set();

/**
 * Draws a lab. Dragging or the arrow keys pan, the wheel or + and − zoom, 0 shows everything. Tab reaches nodes and links, Space selects one, and Enter
 * opens a node. Nodes are moved by dragging them, or by Alt and the arrow keys; dragging with Shift selects with a frame.
 */
export function Topology({ graph, live, selected = nothing, onSelect, onOpen, Overlay, places, tools, ...more }: TopologyProps) {
  const { onMove, onLink, onFrame, onKey, onMenu, captured = nothing, onPackets, pen, onDraw, onResize } = more;
  /** A shape while it is drawn or resized. */
  const [preview, setPreview] = useState<{ readonly id?: string; readonly shape: LabShape }>();
  const [found, setFound] = useState<string>();
  const nodes = useMemo(() => new Map(graph.nodes.map((node) => [node.id, node])), [graph]);
  const movable = useMemo(() => new Map([...graph.nodes, ...graph.texts, ...graph.shapes].map((part) => [part.id, part])), [graph]);
  const stage = useStage(graph);
  const latest = useRef({ onSelect, onOpen, onPackets });
  latest.current = { onSelect, onOpen, onPackets };
  const select = (id: string, how: SelectHow) => latest.current.onSelect(id, how);
  const open = (id: string) => (latest.current.onOpen ?? ((one: string) => select(one, {})))(id);
  usePointer(stage, {
    ...{ graph, selected, open, onMove, onLink, onFrame, pen, onDraw, onResize, onPreview: setPreview },
    onEmpty: () => selected.size > 0 && onSelect(undefined, {}),
  });
  const showPackets = (id: string) => latest.current.onPackets?.(id);
  const shapes = useShapes({
    ...{ graph, nodes, live, selected, found, captured, onSelect: select, onOpen: open },
    hasPlugs: onLink !== undefined,
    onPackets: onPackets && showPackets,
  });
  useLayoutEffect(() => {
    if (places === undefined) return undefined;
    places.current = {
      middle: stage.middle,
      fitNext: stage.fitNext,
      placeAt: (x, y) => {
        const box = stage.stage.current!.getBoundingClientRect();
        return x >= box.left && x <= box.right && y >= box.top && y <= box.bottom ? stage.placeAt(x, y) : undefined;
      },
    };
    return () => {
      places.current = null;
    };
  }, []);

  const onKeyDown = (event: KeyboardEvent) => {
    const node = movable.get((event.target as Element).getAttribute("data-node") ?? "");
    const shape = graph.shapes.find(({ id }) => id === node?.id)?.shape;
    const canMove = onMove !== undefined && (node !== undefined || selected.size > 0);
    const command = keyCommand(event, canMove, shape !== undefined && onResize !== undefined);
    if (command === undefined) {
      if (onKey?.(event, shapeIdOf(event.target as Element)) === true) event.preventDefault();
      return;
    }
    event.preventDefault();
    if (command.kind === "pan") stage.pan(command.dx, command.dy);
    else if (command.kind === "zoom") stage.zoom(command.by);
    else if (command.kind === "fit") stage.fit();
    else if (command.kind === "resize")
      onResize?.(node!.id, resizedShape(shape!, shape!.type === "line" ? "end" : "se", command.dx, command.dy));
    else if (command.kind === "deselect") onSelect(undefined, { byKeyboard: true });
    else onMove?.(movedBy(command, node === undefined || selected.has(node.id) ? selected : new Set([node.id]), movable));
  };
  /** Brings the node or link that Tab focused into view. */
  const onFocus = (event: FocusEvent) => {
    const target = event.target as Element;
    const at = target.matches(":focus-visible") ? placeOfElement(target, graph, nodes) : undefined;
    if (at !== undefined) stage.reveal(at);
  };
  const drawn = graph.shapes.map((one) =>
    preview !== undefined && preview.id === one.id
      ? { id: one.id, shape: preview.shape, at: { x: preview.shape.x, y: preview.shape.y } }
      : one,
  );
  const showFound = (id: string | undefined) => {
    setFound(id);
    const node = nodes.get(id ?? "");
    if (node !== undefined) stage.centre(node.at);
  };
  return (
    <div class="topology">
      <div class="tools">
        <Search nodes={graph.nodes} onFound={showFound} onChosen={(id) => select(id, { byKeyboard: true })} />
        <button type="button" onClick={() => stage.zoom(zoomInFactor)} aria-label="Zoom in">
          +
        </button>
        <button type="button" onClick={() => stage.zoom(zoomOutFactor)} aria-label="Zoom out">
          −
        </button>
        <button type="button" onClick={stage.fit}>
          Show all
        </button>
        {tools}
      </div>
      <div
        ref={stage.stage}
        class={`stage${pen === undefined ? "" : " pen"}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys pan it
        tabIndex={0}
        onKeyDown={onKeyDown}
        onFocusIn={onFocus}
        onContextMenu={(event) => {
          if (onMenu === undefined) return;
          event.preventDefault();
          onMenu(menuAt(event));
        }}
        role="application"
        aria-label="Topology of the lab"
        aria-describedby="topology-help"
      >
        <p id="topology-help" class="visually-hidden">
          {describe(graph)} Tab moves to each node and then to each link. Space opens its panel, Enter a node's console, the menu key its
          actions. Arrow keys move the drawing, plus and minus zoom, 0 shows everything. A question mark lists all keys.
        </p>
        <div ref={stage.layer} class="layer">
          {/* biome-ignore lint/a11y/noSvgWithoutTitle: its shapes have names; a title would be a tooltip over all of them */}
          <svg class="nodes">
            {graph.texts.map((note) => (
              <NoteShape key={note.id} note={note} selected={selected.has(note.id)} edit={onMove && { onSelect: select, onOpen: open }} />
            ))}
            {shapes.nodes}
            {onResize !== undefined && drawn.map((one) => selected.has(one.id) && <ShapeHandles key={one.id} shape={one} />)}
          </svg>
          {/* biome-ignore lint/a11y/noSvgWithoutTitle: the same */}
          <svg ref={stage.svg} class="links">
            {shapes.links}
          </svg>
          {/* biome-ignore lint/a11y/noSvgWithoutTitle: the same */}
          <svg class="shapes">
            {drawn.map((one) => (
              <ShapeMark key={one.id} shape={one} selected={selected.has(one.id)} edit={onMove && { onSelect: select, onOpen: open }} />
            ))}
            {preview !== undefined && preview.id === undefined && (
              <ShapeMark shape={{ id: "new", shape: preview.shape, at: preview.shape }} selected={false} />
            )}
          </svg>
        </div>
        {Overlay !== undefined && <Overlay graph={graph} watchView={stage.watchView} />}
      </div>
    </div>
  );
}

function movedBy(
  { dx, dy }: { readonly dx: number; readonly dy: number },
  ids: ReadonlySet<string>,
  nodes: ReadonlyMap<string, { readonly at: Place }>,
): ReadonlyMap<string, Place> {
  const at = (id: string) => nodes.get(id)?.at;
  return new Map(
    [...ids].flatMap((id) => {
      const before = at(id);
      return before === undefined ? [] : [[id, { x: Math.round(before.x) + dx, y: Math.round(before.y) + dy }] as const];
    }),
  );
}

/** Describes the drawing to people who do not see it. */
function describe({ nodes, links, shapes }: Graph): string {
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;
  const networks = nodes.filter(({ kind }) => kind === "network").length;
  const suspended = links.filter((link) => link.suspended).length;
  const impaired = links.filter(({ quality }) => quality !== "").length;
  const parts = [
    count(nodes.length - networks, "node"),
    ...(networks > 0 ? [count(networks, "network")] : []),
    count(links.length, "link"),
    ...(suspended > 0 ? [`${suspended} of them suspended`] : []),
    ...(impaired > 0 ? [`${impaired} impaired`] : []),
    ...(shapes.length > 0 ? [count(shapes.length, "shape")] : []),
  ];
  return `${parts.join(", ")}.`;
}

/** Returns the id of a node, or "link:" and that of a link; undefined for an element of neither. */
function shapeIdOf(element: Element): string | undefined {
  const shape = element.closest("[data-node], [data-link]");
  const link = shape?.getAttribute("data-link");
  return typeof link === "string" ? `link:${link}` : (shape?.getAttribute("data-node") ?? undefined);
}

/** Returns the shape of a right click or of the menu key, and the place for the menu. */
function menuAt({ target, clientX, clientY }: MouseEvent): { readonly id: string | undefined; readonly x: number; readonly y: number } {
  const shape = (target as Element).closest("[data-node], [data-link]");
  const id = shapeIdOf(target as Element);
  // The menu key has no position of its own in some browsers.
  if (clientX > 0 || clientY > 0 || shape == null) return { id, x: clientX, y: clientY };
  const { left, bottom } = shape.getBoundingClientRect();
  return { id, x: left, y: bottom };
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
