import type { RefObject } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { nodeKey } from "../../base/node-key.ts";
import type { LabShape } from "../../intent/shapes/shape.ts";
import { cachedLayout } from "../../layout/cached-layout.ts";
import type { CaptureRoutes } from "../captures/capture-routes.ts";
import { hasConsole } from "../consoles/has-console.ts";
import { shellTile } from "../consoles/shell-tile.ts";
import { type Drawing, useDrawing } from "../drawing/use-drawing.ts";
import type { LoadHistory } from "../load/load-history.ts";
import { useLoadHistory } from "../load/use-load-history.ts";
import { goTo, type LabRoute, replaceRoute } from "../parts/route.ts";
import { type Preview, usePreview } from "../plan/control/use-preview.ts";
import { drawnShapes, type Graph, graphOf } from "../topology/graph/graph.ts";
import { type GraphShape, shapesWithIds } from "../topology/shapes/shapes.ts";
import type { DrawingPlaces } from "../topology/topology.tsx";
import { type Catalogue, useCatalogue } from "./actions/use-catalogue.ts";
import { type DrawActions, useDrawActions } from "./actions/use-draw-actions.ts";
import { type LinkActions, useLinkActions } from "./actions/use-link-actions.ts";
import { type NodesPower, useNodesPower } from "./actions/use-nodes-power.ts";
import { type Selection, useSelection } from "./actions/use-selection.ts";
import type { WorkbenchProps } from "./workbench.tsx";

export interface Bench {
  readonly graph: Graph;
  readonly places: RefObject<DrawingPlaces | null>;
  readonly selection: Selection;
  readonly catalogue: Catalogue;
  readonly drawing: Drawing;
  readonly draws: DrawActions;
  readonly preview: Preview;
  /** The load of the nodes in the last two minutes. */
  readonly history: LoadHistory;
  readonly power: NodesPower;
  readonly links: LinkActions;
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
  /** Opens the console of a node in the drawer, by the host's id; nodes without one are ignored. */
  readonly openConsole: (id: string) => void;
  readonly openShell: (id: string) => void;
  /** Opens the consoles of several nodes side by side. */
  readonly openConsoles: (ids: readonly string[]) => void;
  readonly openShells: (ids: readonly string[]) => void;
}

/** The state of the workbench, and its actions. */
export function useBench({ lab, route, inspection, live, rights, control, reload, drift }: WorkbenchProps): Bench {
  const [line, setLine] = useState<{ readonly line: number }>();
  const layout = useMemo(cachedLayout, []);
  const places = useRef<DrawingPlaces>(null);
  const selection = useSelection(route.part, (part) => replaceRoute({ ...route, part }));
  const preview = usePreview(lab, control, inspection, drift.data);
  const drawing = useDrawing(control, preview.isDrawn);
  const catalogue = useCatalogue(rights.edit && control.mayEdit);
  const actionsOfPlan = drawing.lab === undefined ? undefined : preview.plan?.actions;
  const { prune: prunes } = control.state.options;
  const shapes = useShapesWithIds(drawnShapes(inspection, drawing.lab));
  const graph = useMemo(
    () => graphOf(inspection, { lab: drawing.lab, prunes, types: catalogue.types, actions: actionsOfPlan ?? [], layout, shapes }),
    [inspection, drawing.lab, prunes, catalogue.types, actionsOfPlan, shapes],
  );
  const draws = useDrawActions({ graph, drawing, control, selection, places });
  const power = useNodesPower(lab);
  const history = useLoadHistory(live);
  const go = (change: Partial<LabRoute>) => goTo({ ...route, ...change });
  const addresses: CaptureRoutes = {
    one: (capture) => ({ ...route, drawer: "captures", node: undefined, capture }),
    all: () => ({ ...route, drawer: "captures", node: undefined, capture: undefined }),
  };
  const links = useLinkActions({ lab, links: inspection.links, addresses, onChanged: reload });
  const openTiles = (ids: readonly string[], tileOf: (key: string) => string) => {
    const nodes = inspection.nodes.filter((one) => ids.includes(one.id) && hasConsole(one));
    if (nodes.length > 0) go({ drawer: "consoles", node: nodes.map((one) => tileOf(nodeKey(one))).join(","), capture: undefined });
  };
  const ownKey = (key: string) => key;
  const showText = (shown: boolean) => replaceRoute({ ...route, text: shown });
  const showLine = (at: number) => {
    showText(true);
    setLine({ line: at });
  };
  return {
    ...{ graph, places, selection, catalogue, drawing, draws, preview, history, power, links, addresses, go },
    text: { line, show: showText, showLine },
    openConsole: (id) => openTiles([id], ownKey),
    openShell: (id) => openTiles([id], shellTile),
    openConsoles: (ids) => openTiles(ids, ownKey),
    openShells: (ids) => openTiles(ids, shellTile),
  };
}

/** Returns the shapes with the ids that they had before an edit. */
function useShapesWithIds(shapes: readonly LabShape[]): readonly GraphShape[] {
  const before = useRef<readonly GraphShape[]>([]);
  const text = JSON.stringify(shapes);
  return useMemo(() => {
    before.current = shapesWithIds(before.current, shapes);
    return before.current;
  }, [text]);
}
