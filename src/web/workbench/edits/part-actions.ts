import type { RefObject } from "preact";
import type { Place } from "../../../layout/layout.ts";
import { freePlace, hostNames, isOnHost, keptPlaces, linkOf, removalOf } from "../../drawing/gestures.ts";
import type { Graph } from "../../topology/graph/graph.ts";
import { usualShape } from "../../topology/shapes/shapes.ts";
import type { DrawingPlaces } from "../../topology/use-drawing-places.ts";
import type { Selection } from "../actions/use-selection.ts";
import type { DrawActions, NewPart } from "./draw-actions.ts";
import { freeInterfaces } from "./free-interfaces.ts";
import type { EditContext, GraphEditor } from "./use-graph-edits.ts";

interface PartInput {
  readonly graph: Graph;
  readonly editor: GraphEditor;
  readonly selection: Selection;
  readonly places: RefObject<DrawingPlaces | null>;
  /** Draws a new shape, and selects it. */
  readonly addShape: DrawActions["addShape"];
  /** Asks for the content of a new text. */
  readonly beginRename: DrawActions["beginRename"];
}

/** Adds, links and removes parts. */
export function partActions({
  graph,
  editor,
  selection,
  places,
  addShape,
  beginRename,
}: PartInput): Pick<DrawActions, "add" | "link" | "remove"> {
  const { draw, drawAndSelect, drawAfter } = editor;
  return {
    add: (part, at) => {
      const dropped = at === undefined ? undefined : places.current?.placeAt(at.x, at.y);
      if (at !== undefined && dropped === undefined) return;
      const wanted = rounded(dropped ?? places.current?.middle() ?? { x: 0, y: 0 });
      if (part.kind === "shape") return addShape(usualShape(part.type, wanted));
      // A part stays where the user drops it.
      const edits = (context: EditContext) => additionOf(context, part, wanted, dropped !== undefined);
      if (part.kind === "text") drawAndSelect(edits, beginRename);
      else draw(edits);
    },
    link: (from, to) => {
      const partAt = (id: string) => graph.nodes.find((one) => one.id === id);
      const [a, b] = [partAt(from), partAt(to)];
      if (a === undefined || b === undefined) return;
      void drawAfter(freeInterfaces, (lab, free) => [linkOf(lab, free, a.key ?? a.label, b.key ?? b.label)]);
    },
    remove: (ids) => {
      if (removalOf(graph, ids).length === 0) return;
      // The choice to delete on the host is needed only for parts that are there.
      const hostHas =
        graph.nodes.some((one) => ids.has(one.id) && isOnHost(one)) ||
        graph.links.some((one) => ids.has(`link:${one.id}`) && isOnHost(one));
      draw(({ graph: shown }) => removalOf(shown, ids), hostHas);
      selection.select(undefined, {});
    },
  };
}

function additionOf({ lab, graph }: EditContext, part: Exclude<NewPart, { kind: "shape" }>, wanted: Place, stays: boolean) {
  const at = stays ? wanted : freePlace(graph, wanted, lab);
  const taken = hostNames(graph);
  const added =
    part.kind === "node"
      ? ({ kind: "add-node", template: part.template, at, taken } as const)
      : part.kind === "network"
        ? ({ kind: "add-network", type: part.type, at, taken } as const)
        : ({ kind: "add-text", text: part.text, at } as const);
  return [keptPlaces(graph), added];
}

function rounded({ x, y }: Place): Place {
  return { x: Math.round(x), y: Math.round(y) };
}
