import type { ComponentType } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { nodeKey } from "../../base/node-key.ts";
import type { InspectedLink, InspectedNode, InspectionData, LiveNodeData } from "../../contract/schemas/observe.ts";
import type { PlanData } from "../../contract/schemas/plan.ts";
import { useDrawing } from "../drawing/use-drawing.ts";
import type { LabRights } from "../labs/lab-rights.ts";
import { lazy } from "../parts/lazy.tsx";
import { Problem } from "../parts/problem.tsx";
import { replaceRoute } from "../parts/route.ts";
import type { Answer } from "../parts/use-answer.ts";
import { ChangeBar } from "../plan/change-bar.tsx";
import type { PlanControl } from "../plan/control/use-plan.ts";
import { usePreview } from "../plan/control/use-preview.ts";
import { graphOf } from "../topology/graph/graph.ts";
import { cachedLayout } from "../topology/layout/cached-layout.ts";
import { type DrawingPlaces, type OverlayProps, Topology } from "../topology/topology.tsx";
import { TrafficSwitch } from "../traffic/traffic-switch.tsx";
import type { TrafficSelection } from "../traffic/use-traffic.ts";
import { runDrawKey } from "./draw-keys.ts";
import { DrawTools } from "./draw-tools.tsx";
import { NameDialog } from "./name-dialog.tsx";
import { Palette } from "./palette.tsx";
import { PartMenu } from "./part-menu.tsx";
import { PartPanel } from "./part-panel.tsx";
import { SelectionBar } from "./selection-bar.tsx";
import { useCatalogue } from "./use-catalogue.ts";
import { useDrawActions } from "./use-draw-actions.ts";
import { useNodesPower } from "./use-nodes-power.ts";
import { useSelection } from "./use-selection.ts";
import "./workbench.css";

/** Loaded when the text is opened beside the drawing: the editor is larger than the rest of the page. */
const TextPane = lazy(() => import("../plan/text-pane.tsx"));

export interface WorkbenchProps {
  readonly lab: string;
  readonly inspection: InspectionData;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  readonly rights: LabRights;
  readonly control: PlanControl;
  /** Whether the text is shown beside the drawing. */
  readonly showsText: boolean;
  /** Reads the lab again. */
  readonly reload: () => void;
  /** Reads the state of its nodes again. */
  readonly reloadStatus: () => void;
  readonly drift: Answer<PlanData | undefined>;
  /** Opens the console of a node, by the host's id. */
  readonly onConsole: (id: string) => void;
  /** Opens a shell in a node, by the host's id. */
  readonly onShell: (id: string) => void;
}

/** A lab as a drawing that can be edited: each edit changes the text, and a bar shows what applying it does. */
export function Workbench(props: WorkbenchProps) {
  const { lab, inspection, live, rights, control, showsText, onConsole } = props;
  const [overlay, setOverlay] = useState<ComponentType<OverlayProps>>();
  // An empty lab is about to be drawn.
  const [isAdding, setAdding] = useState(inspection.nodes.length + inspection.networks.length === 0);
  const [menu, setMenu] = useState<{ readonly id: string | undefined; readonly x: number; readonly y: number }>();
  const [line, setLine] = useState<{ readonly line: number }>();
  const layout = useMemo(cachedLayout, []);
  const places = useRef<DrawingPlaces>(null);
  const selection = useSelection();
  const mayEdit = rights.edit && control.mayEdit;
  const preview = usePreview(lab, control, inspection);
  const drawing = useDrawing(control);
  const catalogue = useCatalogue(mayEdit);
  const actionsOfPlan = drawing.lab === undefined ? undefined : preview.plan?.actions;
  const graph = useMemo(
    () => graphOf(inspection, { lab: drawing.lab, types: catalogue.types, actions: actionsOfPlan ?? [], layout }),
    [inspection, drawing.lab, catalogue.types, actionsOfPlan],
  );
  const draws = useDrawActions({ graph, drawing, control, selection, places });
  const actions = mayEdit ? draws : undefined;
  const power = useNodesPower(lab);
  const allIds = graph.nodes.map(({ id }) => id);
  const node = inspection.nodes.find(({ id }) => id === selection.single);
  const link = inspection.links.find(({ id }) => `link:${id}` === selection.single);
  const showText = (shown: boolean) => replaceRoute({ page: "lab", lab, view: "topology", ...(shown && { text: true }) });
  const showLine = (at: number) => {
    showText(true);
    setLine({ line: at });
  };
  return (
    <>
      <TrafficSwitch lab={lab} selection={trafficSelection(node, link)} onOverlay={(next) => setOverlay(() => next)} />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the panel that is open in it */}
      <div
        class={`workbench${showsText ? " with-text" : ""}`}
        ref={selection.container}
        onKeyDown={(event) => {
          if (event.key === "Escape" && (event.target as Element).closest(".panel") !== null) selection.close();
        }}
      >
        {showsText && <TextPane control={control} line={line} onClose={() => showText(false)} />}
        <div class="drawing">
          <Topology
            graph={graph}
            live={live}
            selected={selection.selected}
            onSelect={selection.select}
            // Also while the rights are unknown: the view of consoles waits for them.
            onOpen={rights.operate || rights.reason === undefined ? onConsole : undefined}
            onMove={actions?.move}
            onLink={actions?.link}
            onFrame={selection.selectAll}
            onKey={(event, focused) => actions !== undefined && runDrawKey(event, { actions, selection, focused, ids: allIds })}
            onMenu={setMenu}
            Overlay={overlay}
            places={places}
            tools={
              control.state.isLoaded && (
                <DrawTools
                  actions={actions}
                  isAdding={isAdding}
                  onAdding={setAdding}
                  showsText={showsText}
                  onText={() => showText(!showsText)}
                />
              )
            }
          />
          {actions !== undefined && isAdding && <Palette {...catalogue} onAdd={actions.add} onClose={() => setAdding(false)} />}
          <PartPanel {...props} node={node} link={link} selection={selection} />
          <div class="bars">
            <SelectionBar
              {...selectedParts(inspection, graph.nodes, selection.selected)}
              actions={actions}
              power={rights.operate ? power : undefined}
            />
            {drawing.problem !== undefined && (
              <p class="notice" role="alert">
                {drawing.problem}
              </p>
            )}
            {power.error !== undefined && <Problem error={power.error} />}
            {mayEdit && <ChangeBar lab={lab} control={control} preview={preview} onLine={showLine} />}
          </div>
        </div>
      </div>
      {menu !== undefined && (
        <PartMenu
          lab={lab}
          inspection={inspection}
          menu={menu}
          selection={selection}
          actions={actions}
          power={rights.operate ? power : undefined}
          onConsole={onConsole}
          onAdd={() => setAdding(true)}
          onChanged={props.reload}
          allIds={allIds}
          onClose={() => setMenu(undefined)}
        />
      )}
      {draws.renaming !== undefined && (
        <NameDialog
          name={draws.renaming.label}
          onName={(name) => draws.rename(draws.renaming!, name)}
          onCancel={() => draws.beginRename(undefined)}
        />
      )}
    </>
  );
}

function selectedParts(
  { nodes }: InspectionData,
  drawn: readonly { readonly id: string; readonly label: string }[],
  selected: ReadonlySet<string>,
) {
  return {
    selected,
    names: drawn.flatMap(({ id, label }) => (selected.has(id) ? [label] : [])),
    nodes: nodes.flatMap((one) => (selected.has(one.id) ? [nodeKey(one)] : [])),
  };
}

function trafficSelection(node: InspectedNode | undefined, link: InspectedLink | undefined): TrafficSelection | undefined {
  if (node !== undefined) return { kind: "node", key: nodeKey(node) };
  return link === undefined ? undefined : { kind: "link", key: link.key };
}
