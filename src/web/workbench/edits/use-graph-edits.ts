import { useLayoutEffect, useRef } from "preact/hooks";
import type { Lab } from "../../../intent/lab/lab.ts";
import type { DrawnEdit } from "../../drawing/lab-edits.ts";
import type { Drawing, DrawTools } from "../../drawing/use-drawing.ts";
import type { Graph } from "../../topology/graph/graph.ts";
import type { Selection } from "../actions/use-selection.ts";

/** The lab of the text, as the drawing shows it when an edit is drawn: later than the gesture if earlier edits are still drawn then. */
export interface EditContext {
  readonly lab: Lab;
  readonly graph: Graph;
  readonly tools: DrawTools;
}

export type GraphEdits = (context: EditContext) => readonly DrawnEdit[];

export interface GraphEditor extends Pick<Drawing, "drawAfter" | "prepare"> {
  /** Draws edits. @param prunes see `Drawing.draw` */
  readonly draw: (edits: GraphEdits, prunes?: boolean) => void;
  /** Draws edits that add parts, and selects these. @param onAdded called with the id of the first one */
  readonly drawAndSelect: (edits: GraphEdits, onAdded?: (id: string) => void) => void;
  /** Draws edits, or returns why they are not possible. */
  readonly attempt: (edits: GraphEdits) => Promise<string | undefined>;
}

interface Added {
  /** The ids before the parts are added. */
  readonly before: ReadonlySet<string>;
  readonly onAdded: ((id: string) => void) | undefined;
}

/** Draws edits of the parts that the drawing shows. */
export function useGraphEdits(graph: Graph, drawing: Drawing, selection: Selection): GraphEditor {
  const latest = useRef(graph);
  latest.current = graph;
  const added = useRef<Added>(undefined);
  const ids = idsOf(graph);
  // A layout effect: the next key must find the new parts selected.
  useLayoutEffect(() => {
    if (added.current === undefined) return;
    const { before, onAdded } = added.current;
    const fresh = ids.filter((id) => !before.has(id));
    if (fresh.length === 0) return;
    added.current = undefined;
    selection.selectAll(fresh);
    onAdded?.(fresh[0]!);
  }, [graph]);
  const shown = (edits: GraphEdits) => (lab: Lab, tools: DrawTools) => edits({ lab, tools, graph: latest.current });
  return {
    drawAfter: drawing.drawAfter,
    prepare: drawing.prepare,
    draw: (edits, prunes) => void drawing.draw(shown(edits), prunes),
    attempt: (edits) => drawing.attempt(shown(edits)),
    drawAndSelect: (edits, onAdded) => {
      const withMark: GraphEdits = (context) => {
        const drawn = edits(context);
        added.current = drawn.length === 0 ? undefined : { before: new Set(idsOf(context.graph)), onAdded };
        return drawn;
      };
      void drawing.draw(shown(withMark)).then((refused) => {
        if (refused !== undefined) added.current = undefined;
      });
    },
  };
}

function idsOf({ nodes, texts, shapes }: Graph): readonly string[] {
  return [...nodes, ...texts, ...shapes].map(({ id }) => id);
}
