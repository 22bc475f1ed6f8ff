import { useLayoutEffect, useRef } from "preact/hooks";
import type { Graph } from "./graph/graph.ts";
import type { Place } from "./layout/layout.ts";
import { onDoubleClick } from "./stage/double-click.ts";
import { dragNode } from "./stage/drag-node.ts";
import { panAndZoom } from "./stage/pan-zoom.ts";
import type { Stage } from "./use-stage.ts";

interface PointerActions {
  readonly graph: Graph;
  /** Opens a node, after a double click. */
  readonly open: (id: string) => void;
  /** Absent: nodes cannot be moved. */
  readonly onMove: ((id: string, at: Place) => void) | undefined;
}

/** Pans and zooms the stage, drags nodes, and opens them by a double click. */
export function usePointer({ stage, svg, view, show }: Stage, actions: PointerActions): void {
  // The listeners are added once, and use the actions of the latest render.
  const latest = useRef(actions);
  latest.current = actions;
  const latestShow = useRef(show);
  latestShow.current = show;
  // A layout effect: the clean-up of useEffect runs only after the next frame, when the stage no longer exists.
  useLayoutEffect(() => {
    const onPress = (event: PointerEvent): boolean => {
      const target = event.target as Element;
      const id = target.closest("[data-node]")?.getAttribute("data-node");
      const { graph, onMove } = latest.current;
      if (typeof id === "string" && onMove !== undefined) {
        dragNode(event, { graph, picture: svg.current!, id, scale: view().scale, onDrop: (at) => onMove(id, at) });
      }
      return typeof id === "string" || target.closest("[data-link]") !== null;
    };
    const removePanZoom = panAndZoom(stage.current!, { view, show: (next) => latestShow.current(next), onPress });
    const removeDoubleClick = onDoubleClick(stage.current!, (id) => {
      const { graph, open } = latest.current;
      if (graph.nodes.some((node) => node.id === id && node.kind === "node")) open(id);
    });
    return () => {
      removePanZoom();
      removeDoubleClick();
    };
  }, []);
}
