import type { RefObject } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { InspectedLink, InspectedNode, InspectionData } from "../../contract/schemas/observe.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import { cachedLayout } from "../../layout/cached-layout.ts";
import type { CaptureRoutes } from "../captures/capture-routes.ts";
import { type Drawing, useDrawing } from "../drawing/use-drawing.ts";
import type { LoadHistory } from "../load/load-history.ts";
import { useLoadHistory } from "../load/use-load-history.ts";
import { goTo, type LabRoute, labRouteNow, replaceRoute } from "../parts/route.ts";
import { type Preview, usePreview } from "../plan/control/use-preview.ts";
import { drawnShapes, type Graph, graphOf } from "../topology/graph/graph.ts";
import { type GraphShape, shapesWithIds } from "../topology/shapes/shapes.ts";
import { type GraphText, textsWithIds } from "../topology/shapes/texts.ts";
import type { DrawingPlaces } from "../topology/use-drawing-places.ts";
import { type Catalogue, useCatalogue } from "./actions/use-catalogue.ts";
import { useFollowedSelection } from "./actions/use-followed-selection.ts";
import { type LinkActions, useLinkActions } from "./actions/use-link-actions.ts";
import { type NodesPower, useNodesPower } from "./actions/use-nodes-power.ts";
import { type Selection, useSelection } from "./actions/use-selection.ts";
import type { DrawActions } from "./edits/draw-actions.ts";
import { useDrawActions } from "./edits/use-draw-actions.ts";
import { consoleOpeners, packetsOf } from "./part-openers.ts";
import { type BenchView, useBenchView } from "./use-bench-view.ts";
import { useDrawKeys } from "./use-draw-keys.ts";
import type { WorkbenchProps } from "./workbench.tsx";

export interface Bench extends ReturnType<typeof consoleOpeners> {
  readonly view: BenchView;
  readonly graph: Graph;
  readonly places: RefObject<DrawingPlaces | null>;
  readonly selection: Selection;
  /** The selected node or link of the host, if it is the only selected part. */
  readonly node: InspectedNode | undefined;
  readonly link: InspectedLink | undefined;
  /** Ids of all parts that can be selected. */
  readonly allIds: readonly string[];
  readonly catalogue: Catalogue;
  readonly drawing: Drawing;
  readonly draws: DrawActions;
  /** undefined: the user may not edit the lab. */
  readonly actions: DrawActions | undefined;
  readonly preview: Preview;
  /** The load of the nodes in the last two minutes. */
  readonly history: LoadHistory;
  readonly power: NodesPower;
  readonly links: LinkActions;
  /** Shows the packets of a link, by its key; undefined: not allowed. */
  readonly showPackets: ((key: string | undefined) => void) | undefined;
  /** Whether the open menu is that of several selected parts. */
  readonly isMenuOfSelection: boolean;
  /** Runs the action of a key in the drawing. Returns whether the key has one. */
  readonly onKey: (event: KeyboardEvent, focused: string | undefined) => boolean;
  /** The text beside the drawing; `line` is the line to show, a new object each time. */
  readonly text: {
    readonly line: { readonly line: number } | undefined;
    readonly show: (shown: boolean) => void;
    readonly showLine: (line: number) => void;
  };
  /** The captures are shown in the drawer. */
  readonly addresses: CaptureRoutes;
  /** Changes the address. */
  readonly go: (change: Partial<LabRoute>) => void;
}

/** The state of the workbench, and its actions. */
export function useBench({ lab, route, inspection, live, rights, control, reload, drift }: WorkbenchProps): Bench {
  const view = useBenchView(inspection);
  const places = useRef<DrawingPlaces>(null);
  const selection = useSelection(route.part, (part) => replaceRoute({ ...labRouteNow(lab), part }));
  const preview = usePreview(lab, control, inspection, drift.data);
  const drawing = useDrawing(control, preview.isDrawn);
  const catalogue = useCatalogue(rights.edit && control.mayEdit);
  const graph = useDrawnGraph(inspection, drawing.lab, {
    prunes: control.state.options.prune,
    types: catalogue.types,
    actions: drawing.lab === undefined ? undefined : preview.plan?.actions,
  });
  useFollowedSelection(graph, selection);
  const draws = useDrawActions({ graph, drawing, control, selection, places });
  const actions = rights.edit && control.mayEdit ? draws : undefined;
  const power = useNodesPower(lab);
  const history = useLoadHistory(live);
  const go = (change: Partial<LabRoute>) => goTo({ ...labRouteNow(lab), ...change });
  const addresses: CaptureRoutes = {
    one: (capture) => ({ ...labRouteNow(lab), view: "topology", drawer: "captures", node: undefined, capture }),
    all: () => ({ ...labRouteNow(lab), view: "topology", drawer: "captures", node: undefined, capture: undefined }),
  };
  const links = useLinkActions({ lab, links: inspection.links, addresses, onChanged: reload });
  const allIds = [...graph.nodes, ...graph.texts, ...graph.shapes].map(({ id }) => id);
  const menuId = view.menu?.id;
  return {
    ...{ view, graph, places, selection, catalogue, drawing, draws, actions, preview, history, power, links, addresses, go, allIds },
    ...consoleOpeners(inspection, go),
    text: useShownText(lab),
    onKey: useDrawKeys({ actions, selection, ids: allIds, onHelp: () => view.setShowsKeys(true) }),
    node: inspection.nodes.find(({ id }) => id === selection.single),
    link: inspection.links.find(({ id }) => `link:${id}` === selection.single),
    showPackets: rights.operate ? packetsOf(links.capture, inspection) : undefined,
    isMenuOfSelection: menuId !== undefined && selection.selected.size > 1 && selection.selected.has(menuId),
  };
}

function useShownText(lab: string): Bench["text"] {
  const [line, setLine] = useState<{ readonly line: number }>();
  const show = (shown: boolean) => replaceRoute({ ...labRouteNow(lab), text: shown });
  return {
    line,
    show,
    showLine: (at) => {
      show(true);
      setLine({ line: at });
    },
  };
}

interface GraphInput {
  readonly prunes: boolean;
  readonly types: Catalogue["types"];
  /** The plan of the text; undefined: nothing is marked. */
  readonly actions: NonNullable<Parameters<typeof graphOf>[1]>["actions"] | undefined;
}

/** Returns the drawing of the edited lab, or without one that of the host. Texts and shapes keep their ids over edits. */
function useDrawnGraph(inspection: InspectionData, lab: Lab | undefined, { prunes, types, actions }: GraphInput): Graph {
  const layout = useMemo(cachedLayout, []);
  const shapes = useKept<readonly GraphShape[]>([], JSON.stringify(drawnShapes(inspection, lab)), (before) =>
    shapesWithIds(before, drawnShapes(inspection, lab)),
  );
  const texts = useKept<readonly GraphText[]>([], JSON.stringify((lab ?? inspection).texts), (before) =>
    textsWithIds(before, (lab ?? inspection).texts),
  );
  return useMemo(
    () => graphOf(inspection, { lab, prunes, types, actions: actions ?? [], layout, shapes, texts }),
    [inspection, lab, prunes, types, actions, shapes, texts],
  );
}

/** Returns a value that is computed from the one before when `key` changes. */
function useKept<T>(first: T, key: string, next: (before: T) => T): T {
  const before = useRef(first);
  return useMemo(() => {
    before.current = next(before.current);
    return before.current;
  }, [key]);
}
