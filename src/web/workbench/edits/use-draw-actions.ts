import type { RefObject } from "preact";
import { aligned, arranged, distributed, movableParts, movesOf, steppedPlaces } from "../../drawing/gestures.ts";
import type { Drawing } from "../../drawing/use-drawing.ts";
import type { PlanControl } from "../../plan/control/use-plan.ts";
import type { Graph } from "../../topology/graph/graph.ts";
import type { DrawingPlaces } from "../../topology/use-drawing-places.ts";
import type { Selection } from "../actions/use-selection.ts";
import { copyActions } from "./copy-actions.ts";
import type { DrawActions } from "./draw-actions.ts";
import { partActions } from "./part-actions.ts";
import { shapeActions } from "./shape-actions.ts";
import { type GraphEditor, useGraphEdits } from "./use-graph-edits.ts";
import { useInterfaces } from "./use-interfaces.ts";
import { useRenaming } from "./use-renaming.ts";

export interface DrawInput {
  readonly graph: Graph;
  readonly drawing: Drawing;
  readonly control: PlanControl;
  readonly selection: Selection;
  readonly places: RefObject<DrawingPlaces | null>;
}

/** The edits of the drawing by the pointer, the keyboard, menus and buttons. */
export function useDrawActions({ graph, drawing, control, selection, places }: DrawInput): DrawActions {
  const { state, dispatch } = control;
  const editor = useGraphEdits(graph, drawing, selection);
  const renaming = useRenaming(graph, editor, selection);
  const interfaces = useInterfaces(graph, editor);
  const shapes = shapeActions(editor);
  return {
    ...renaming,
    ...interfaces,
    ...shapes,
    ...copyActions(editor),
    ...placeActions(editor, selection, places),
    ...partActions({ graph, editor, selection, places, addShape: shapes.addShape, beginRename: renaming.beginRename }),
    prepare: editor.prepare,
    undo: state.past.length === 0 ? undefined : () => dispatch({ type: "undone" }),
    redo: state.future.length === 0 ? undefined : () => dispatch({ type: "redone" }),
  };
}

function placeActions(
  { draw }: GraphEditor,
  { selected }: Selection,
  places: RefObject<DrawingPlaces | null>,
): Pick<DrawActions, "move" | "step" | "align" | "distribute" | "arrange"> {
  return {
    move: (moved) => draw(({ graph }) => movesOf(graph, moved)),
    step: (ids, dx, dy) => draw(({ graph }) => movesOf(graph, steppedPlaces(graph, ids, dx, dy))),
    align: (axis) => draw(({ graph }) => movesOf(graph, aligned(movableParts(graph, selected), axis))),
    distribute: (axis) => draw(({ graph }) => movesOf(graph, distributed(movableParts(graph, selected), axis))),
    arrange: (kind) => {
      places.current?.fitNext();
      draw(({ graph }) => movesOf(graph, arranged(graph, kind)));
    },
  };
}
