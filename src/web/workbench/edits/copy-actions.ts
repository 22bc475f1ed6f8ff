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
        const copied = copyOf(context, ids);
        // Without a part that can be copied, those that were copied before stay.
        if (!isEmpty(copied)) storeCopied(copied);
        return [];
      }),
    paste: () => {
      const copied = readCopied();
      if (copied !== undefined) drawAndSelect(({ graph }) => [keptPlaces(graph), pasteOf(copied, graph)]);
    },
    duplicate: (ids) =>
      drawAndSelect((context) => {
        const copied = copyOf(context, ids);
        return isEmpty(copied) ? [] : [keptPlaces(context.graph), pasteOf(copied, context.graph)];
      }),
  };
}

function copyOf({ lab, graph, tools }: EditContext, ids: ReadonlySet<string>): CopiedParts {
  const keys = new Set(graph.nodes.flatMap(({ id, key }) => (ids.has(id) && key !== null ? [key] : [])));
  const shapes = graph.shapes.flatMap(({ id, shape }) => (ids.has(id) ? [shape] : []));
  return tools.copied(lab, keys, textIndexes(graph, ids), shapes);
}

function isEmpty({ nodes, networks, texts = [], shapes = [] }: CopiedParts): boolean {
  return nodes.length + networks.length + texts.length + shapes.length === 0;
}
