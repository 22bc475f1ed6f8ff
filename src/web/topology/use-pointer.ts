import { useLayoutEffect, useRef } from "preact/hooks";
import type { LabShape } from "../../intent/shapes/shape.ts";
import type { Place } from "../../layout/layout.ts";
import type { Graph } from "./graph/graph.ts";
import { type Handle, isShapeId } from "./shapes/shapes.ts";
import { onDoubleClick } from "./stage/double-click.ts";
import { dragNodes } from "./stage/drag-node.ts";
import { dragHandle, drawShape } from "./stage/drag-shape.ts";
import { drawFrame } from "./stage/draw-frame.ts";
import { drawLink } from "./stage/draw-link.ts";
import { panAndZoom } from "./stage/pan-zoom.ts";
import type { Stage } from "./use-stage.ts";

interface PointerActions {
  readonly graph: Graph;
  readonly selected: ReadonlySet<string>;
  /** Opens a node, after a double click. */
  readonly open: (id: string) => void;
  /** The shape that a press draws; undefined: none. */
  readonly pen: LabShape["type"] | undefined;
  /** Absent: no shapes can be drawn. */
  readonly onDraw: ((shape: LabShape) => void) | undefined;
  /** Absent: no shapes can be resized. */
  readonly onResize: ((id: string, changed: (shape: LabShape) => LabShape) => void) | undefined;
  /** Shows a shape as it would become, or without an id a new one; undefined: as it is. */
  readonly onPreview: (preview: { readonly id?: string; readonly shape: LabShape } | undefined) => void;
  /** Absent: nodes cannot be moved. */
  readonly onMove: ((places: ReadonlyMap<string, Place>) => void) | undefined;
  /** Absent: no links can be drawn. */
  readonly onLink: ((from: string, to: string) => void) | undefined;
  /** Absent: a frame with Shift selects nothing. */
  readonly onFrame: ((ids: readonly string[]) => void) | undefined;
  /** Called for a click on a place without a part. */
  readonly onEmpty: () => void;
}

/** Pans and zooms the stage, drags nodes, draws links and frames, and opens nodes by a double click. */
export function usePointer({ stage, layer, svg, view, show, placeAt }: Stage, actions: PointerActions): void {
  // The listeners are added once, and use the actions of the latest render.
  const latest = useRef(actions);
  latest.current = actions;
  const latestShow = useRef(show);
  latestShow.current = show;
  // A layout effect: the clean-up of useEffect runs only after the next frame, when the stage no longer exists.
  useLayoutEffect(() => {
    const placeOf = ({ clientX, clientY }: PointerEvent) => placeAt(clientX, clientY);
    const onPress = (event: PointerEvent): boolean => {
      const target = event.target as Element;
      const id = target.closest("[data-node]")?.getAttribute("data-node");
      const { graph, selected, onMove, onLink, onFrame } = latest.current;
      const { pen, onDraw, onResize, onPreview } = latest.current;
      if (pen !== undefined && onDraw !== undefined) {
        drawShape(event, pen, { placeOf, onPreview: (shape) => onPreview(shape && { shape }), onDrop: onDraw });
        return true;
      }
      const handle = target.closest("[data-handle]");
      const resized = graph.shapes.find((one) => one.id === handle?.closest("[data-handles]")?.getAttribute("data-handles"));
      if (resized !== undefined && onResize !== undefined) {
        dragHandle(event, resized, handle!.getAttribute("data-handle") as Handle, {
          placeOf,
          onPreview: (shape) => onPreview(shape && { id: resized.id, shape }),
          onDrop: (shape) => onResize(resized.id, () => shape),
        });
        return true;
      }
      const node = [...graph.nodes, ...graph.texts, ...graph.shapes].find((one) => one.id === id);
      // A frame may begin on a shape, which can fill the drawing.
      if (node === undefined || (event.shiftKey && isShapeId(node.id) && !selected.has(node.id))) {
        if (!event.shiftKey || onFrame === undefined) return target.closest("[data-link]") !== null;
        drawFrame(event, { stage: stage.current!, graph, placeOf, onDrop: onFrame });
        return true;
      }
      if (onLink !== undefined && target.closest(".plug") !== null) {
        drawLink(event, { picture: svg.current!, from: node.id, at: node.at, placeOf, onDrop: (to) => onLink(node.id, to) });
      } else if (onMove !== undefined) {
        const ids = selected.has(node.id) ? selected : new Set([node.id]);
        dragNodes(event, { graph, picture: layer.current!, ids, scale: view().scale, onDrop: onMove });
      }
      return true;
    };
    const removePanZoom = panAndZoom(stage.current!, {
      view,
      show: (next) => latestShow.current(next),
      onPress,
      onClick: ({ ctrlKey, metaKey, shiftKey }) => {
        // With these keys parts are added to the selection: a click that misses one does not lose the others.
        if (!ctrlKey && !metaKey && !shiftKey) latest.current.onEmpty();
      },
    });
    const removeDoubleClick = onDoubleClick(stage.current!, (id) => {
      const { graph, open } = latest.current;
      if (graph.nodes.some((node) => node.id === id && node.kind === "node") || isDrawn(graph, id)) open(id);
    });
    return () => {
      removePanZoom();
      removeDoubleClick();
    };
  }, []);
}

/** Returns whether it is a text or a shape. */
function isDrawn({ texts, shapes }: Graph, id: string): boolean {
  return [...texts, ...shapes].some((one) => one.id === id);
}
