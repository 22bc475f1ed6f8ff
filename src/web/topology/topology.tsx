import type { ComponentChildren, ComponentType, RefObject } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { LiveNodeData } from "../../contract/schemas/observe.ts";
import type { LabShape } from "../../intent/shapes/shape.ts";
import type { Place } from "../../layout/layout.ts";
import { describe } from "./describe.ts";
import type { Graph } from "./graph/graph.ts";
import { menuAt } from "./part-elements.ts";
import type { SelectHow } from "./parts/select-how.ts";
import { Picture } from "./picture.tsx";
import type { View } from "./stage/view.ts";
import { stageKeys } from "./stage-keys.ts";
import { TopologyTools } from "./topology-tools.tsx";
import { type DrawingPlaces, useDrawingPlaces } from "./use-drawing-places.ts";
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

/** Edits of the drawing; absent functions: not allowed. */
export interface TopologyEdits {
  readonly onMove?: ((places: ReadonlyMap<string, Place>) => void) | undefined;
  /** Moves parts by a step of the keyboard. */
  readonly onStep?: ((ids: ReadonlySet<string>, dx: number, dy: number) => void) | undefined;
  readonly onLink?: ((from: string, to: string) => void) | undefined;
  /** The shape that a press in the drawing draws; undefined: none. */
  readonly pen?: LabShape["type"] | undefined;
  readonly onDraw?: ((shape: LabShape) => void) | undefined;
  readonly onResize?: ((id: string, changed: (shape: LabShape) => LabShape) => void) | undefined;
  readonly onFrame?: ((ids: readonly string[]) => void) | undefined;
  /**
   * Called for keys that the drawing itself does not use, with the id of the focused part: of a node, or "link:" and that of a link. Returns true if it
   * used the key.
   */
  readonly onKey?: ((event: KeyboardEvent, focused: string | undefined) => boolean) | undefined;
  /** Called for a right click or the menu key. The id is that of a node, or "link:" and that of a link. */
  readonly onMenu?: ((menu: { readonly id: string | undefined; readonly x: number; readonly y: number }) => void) | undefined;
}

export interface TopologyProps extends TopologyEdits {
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

/** A shape while it is drawn, or with its id while it is resized. */
export interface ShapePreview {
  readonly id?: string;
  readonly shape: LabShape;
}

const nothing: ReadonlySet<string> = new Set();

/**
 * Draws a lab. Dragging or the arrow keys pan, the wheel or + and − zoom, 0 shows everything. Tab reaches nodes and links, Space selects one, and Enter
 * opens a node. Nodes are moved by dragging them, or by Alt and the arrow keys; dragging with Shift selects with a frame.
 */
export function Topology({ graph, live, selected = nothing, onSelect, onOpen, Overlay, places, tools, ...more }: TopologyProps) {
  const { onMove, onLink, onFrame, onMenu, captured = nothing, onPackets, pen, onDraw, onResize } = more;
  const [preview, setPreview] = useState<ShapePreview>();
  const [found, setFound] = useState<string>();
  const nodes = useMemo(() => new Map(graph.nodes.map((node) => [node.id, node])), [graph]);
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
  useDrawingPlaces(stage, places);
  const keys = stageKeys({ ...more, graph, nodes, selected, stage, onSelect });
  const showFound = (id: string | undefined) => {
    setFound(id);
    const node = nodes.get(id ?? "");
    if (node !== undefined) stage.centre(node.at);
  };
  return (
    <div class="topology">
      <TopologyTools graph={graph} stage={stage} onFound={showFound} onChosen={(id) => select(id, { byKeyboard: true })}>
        {tools}
      </TopologyTools>
      <div
        ref={stage.stage}
        class={`stage${pen === undefined ? "" : " pen"}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys pan it
        tabIndex={0}
        onKeyDown={keys.onKeyDown}
        onFocusIn={keys.onFocusIn}
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
        <Picture
          graph={graph}
          stage={stage}
          shapes={shapes}
          selected={selected}
          preview={preview}
          hasHandles={onResize !== undefined}
          edit={onMove && { onSelect: select, onOpen: open }}
        />
        {Overlay !== undefined && <Overlay graph={graph} watchView={stage.watchView} />}
      </div>
    </div>
  );
}
