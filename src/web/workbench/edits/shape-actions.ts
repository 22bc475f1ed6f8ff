import type { LabShape } from "../../../intent/shapes/shape.ts";
import { shapeLimits } from "../../../intent/shapes/shape.ts";
import { shapeChangesOf } from "../../drawing/gestures.ts";
import type { Graph } from "../../topology/graph/graph.ts";
import type { DrawActions } from "./draw-actions.ts";
import type { GraphEditor } from "./use-graph-edits.ts";

/** The edits of shapes. */
export function shapeActions({ draw, drawAndSelect }: GraphEditor): Pick<DrawActions, "addShape" | "setShapes" | "raise"> {
  return {
    addShape: (shape) => drawAndSelect(() => [{ kind: "add-shapes", shapes: [shape] }]),
    setShapes: (ids, changed) => draw(({ graph }) => shapeChangesOf(graph, ids, changed)),
    raise: (ids, to) =>
      draw(({ graph }) => {
        const layer = outerLayer(graph, ids, to);
        return shapeChangesOf(graph, ids, (shape): LabShape => ({ ...shape, layer }));
      }),
  };
}

/** Returns the layer over all other shapes, or behind them. */
function outerLayer({ shapes }: Graph, ids: ReadonlySet<string>, to: "front" | "back"): number {
  const layers = shapes.flatMap(({ id, shape }) => (ids.has(id) ? [] : [shape.layer ?? 0]));
  const { min, max } = shapeLimits.layer;
  return to === "front" ? Math.min(max, Math.max(-1, ...layers) + 1) : Math.max(min, Math.min(1, ...layers) - 1);
}
