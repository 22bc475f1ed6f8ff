import type { Graph, GraphNode } from "./graph/graph.ts";
import { placeOfElement, shapeIdOf } from "./part-elements.ts";
import { resizedShape } from "./shapes/shapes.ts";
import type { TopologyEdits, TopologyProps } from "./topology.tsx";
import { keyCommand } from "./topology-keys.ts";
import type { Stage } from "./use-stage.ts";

interface StageKeysInput extends Pick<TopologyEdits, "onStep" | "onResize" | "onKey"> {
  readonly graph: Graph;
  readonly nodes: ReadonlyMap<string, GraphNode>;
  readonly selected: ReadonlySet<string>;
  readonly stage: Stage;
  readonly onSelect: TopologyProps["onSelect"];
}

/** Returns the listeners for keys in the drawing, and for the focus of its parts. */
export function stageKeys({ graph, nodes, selected, stage, onSelect, onStep, onResize, onKey }: StageKeysInput) {
  const onKeyDown = (event: KeyboardEvent) => {
    const focused = (event.target as Element).getAttribute("data-node") ?? "";
    const part = [...graph.nodes, ...graph.texts, ...graph.shapes].find(({ id }) => id === focused);
    const isShape = graph.shapes.some(({ id }) => id === focused);
    const canMove = onStep !== undefined && (part !== undefined || selected.size > 0);
    const command = keyCommand(event, canMove, isShape && onResize !== undefined);
    if (command === undefined) {
      if (onKey?.(event, shapeIdOf(event.target as Element)) === true) event.preventDefault();
      return;
    }
    event.preventDefault();
    if (command.kind === "pan") stage.pan(command.dx, command.dy);
    else if (command.kind === "zoom") stage.zoom(command.by);
    else if (command.kind === "fit") stage.fit();
    else if (command.kind === "resize")
      onResize?.(focused, (shape) => resizedShape(shape, shape.type === "line" ? "end" : "se", command.dx, command.dy));
    else if (command.kind === "deselect") onSelect(undefined, { byKeyboard: true });
    else onStep?.(part === undefined || selected.has(focused) ? selected : new Set([focused]), command.dx, command.dy);
  };
  /** Brings the node or link that Tab focused into view. */
  const onFocusIn = (event: FocusEvent) => {
    const target = event.target as Element;
    const at = target.matches(":focus-visible") ? placeOfElement(target, graph, nodes) : undefined;
    if (at !== undefined) stage.reveal(at);
  };
  return { onKeyDown, onFocusIn };
}
