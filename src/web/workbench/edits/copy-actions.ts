import { readCopied, storeCopied } from "../../drawing/clipboard.ts";
import { keptPlaces, pasteOf, textIndexes } from "../../drawing/gestures.ts";
import type { CopiedParts } from "../../drawing/lab-edits.ts";
import type { DrawActions } from "./draw-actions.ts";
import type { EditContext, GraphEditor } from "./use-graph-edits.ts";

/** Copies of parts, also for other labs. */
export function copyActions({ draw, drawAndSelect }: GraphEditor): Pick<DrawActions, "copy" | "paste" | "duplicate"> {
  return {
    copy: (ids) =>
      draw((context) => {
        storeCopied(copyOf(context, ids));
        return [];
      }),
    paste: () => {
      const copied = readCopied();
      if (copied !== undefined) drawAndSelect(({ graph }) => [keptPlaces(graph), pasteOf(copied, graph)]);
    },
    duplicate: (ids) => drawAndSelect((context) => [keptPlaces(context.graph), pasteOf(copyOf(context, ids), context.graph)]),
  };
}

function copyOf({ lab, graph, tools }: EditContext, ids: ReadonlySet<string>): CopiedParts {
  const keys = new Set(graph.nodes.flatMap(({ id, key }) => (ids.has(id) && key !== null ? [key] : [])));
  const shapes = graph.shapes.flatMap(({ id, shape }) => (ids.has(id) ? [shape] : []));
  return tools.copied(lab, keys, textIndexes(graph, ids), shapes);
}
