import { useState } from "preact/hooks";
import { nodeKey } from "../../base/node-key.ts";
import type { InspectedLink, InspectedNode, InspectionData, LiveNodeData } from "../../contract/schemas/observe.ts";
import type { PlanData } from "../../contract/schemas/plan.ts";
import type { LabShape } from "../../intent/shapes/shape.ts";
import { CaptureAddresses } from "../captures/capture-routes.ts";
import { textIndex } from "../drawing/gestures.ts";
import type { LabRights } from "../labs/lab-rights.ts";
import { lazy } from "../parts/lazy.tsx";
import { Problem } from "../parts/problem.tsx";
import type { LabRoute } from "../parts/route.ts";
import type { Answer } from "../parts/use-answer.ts";
import { ChangeBar } from "../plan/change-bar.tsx";
import type { PlanControl } from "../plan/control/use-plan.ts";
import { isShapeId } from "../topology/shapes/shapes.ts";
import { Topology } from "../topology/topology.tsx";
import type { ShownTraffic } from "../traffic/shown-traffic.ts";
import { TrafficSwitch } from "../traffic/traffic-switch.tsx";
import type { TrafficSelection } from "../traffic/use-traffic.ts";
import { runDrawKey } from "./actions/draw-keys.ts";
import { useBarsHeight } from "./actions/use-bars-height.ts";
import type { LinkActions } from "./actions/use-link-actions.ts";
import { usePageKeys } from "./actions/use-page-keys.ts";
import { BenchDialogs } from "./bench-dialogs.tsx";
import { DrawTools } from "./draw-tools.tsx";
import { LabDrawer } from "./lab-drawer.tsx";
import { PartMenu } from "./part-menu.tsx";
import { PartPanel } from "./part-panel.tsx";
import { SelectedParts } from "./selection/selected-parts.tsx";
import { useBench } from "./use-bench.ts";
import "./workbench.css";

/** Loaded when it is first opened. */
const Palette = lazy(() => import("./palette.tsx"));

/** Loaded when it is first opened. */
const ShapePanel = lazy(() => import("./shape-panel.tsx"));

/** Loaded when the text is opened beside the drawing: the editor is larger than the rest of the page. */
const TextPane = lazy(() => import("../plan/text-pane.tsx"));

export interface WorkbenchProps {
  readonly lab: string;
  /** The address: which console, capture and traffic are shown, and whether the text is. */
  readonly route: LabRoute;
  readonly inspection: InspectionData;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  readonly rights: LabRights;
  readonly control: PlanControl;
  /** Reads the lab again. */
  readonly reload: () => void;
  /** Reads the state of its nodes again. */
  readonly reloadStatus: () => void;
  readonly drift: Answer<PlanData | undefined>;
}

/** The page of a lab: the drawing, which can be edited, with panels over it, the text beside it, and a drawer below it. */
export function Workbench(props: WorkbenchProps) {
  const { lab, route, inspection, live, rights, control } = props;
  // An empty lab is about to be drawn. At the size of a phone the palette would cover the drawing.
  const [isAdding, setAdding] = useState(
    inspection.nodes.length + inspection.networks.length === 0 && matchMedia("(min-width: 50.01rem)").matches,
  );
  const [menu, setMenu] = useState<{ readonly id: string | undefined; readonly x: number; readonly y: number }>();
  /** Keys of the nodes for which the question before a wipe is shown. */
  const [wiping, setWiping] = useState<readonly string[]>();
  /** The shape that is drawn next. */
  const [pen, setPen] = useState<LabShape["type"]>();
  const [showsKeys, setShowsKeys] = useState(false);
  const [traffic, setTraffic] = useState<ShownTraffic>();
  /** The section of the node's panel that a menu opened; a new object each time. */
  const [shown, setShown] = useState<{ readonly section: string }>();
  const bench = useBench(props);
  const { selection, drawing, draws, power, preview, graph, places, links, text, addresses } = bench;
  const { go, openConsole, openConsoles, openShell, openShells } = bench;
  const actions = rights.edit && control.mayEdit ? draws : undefined;
  const allIds = [...graph.nodes, ...graph.texts, ...graph.shapes].map(({ id }) => id);
  const chosenShapes = graph.shapes.filter(({ id }) => selection.selected.has(id));
  const isOfSelection = menu?.id !== undefined && selection.selected.size > 1 && selection.selected.has(menu.id);
  const showPackets = rights.operate ? packetsOf(links.capture, inspection) : undefined;
  const onKey = (event: KeyboardEvent, focused: string | undefined) => {
    if (event.key === "?") setShowsKeys(true);
    return event.key === "?" || (actions !== undefined && runDrawKey(event, { actions, selection, focused, ids: allIds }));
  };
  usePageKeys((event) => {
    const isUsed = onKey(event, undefined);
    // Further keys, such as the arrows, belong to the drawing, too.
    if (isUsed && event.key !== "?") selection.container.current?.querySelector<HTMLElement>(".stage")?.focus({ preventScroll: true });
    return isUsed;
  });
  const bars = useBarsHeight();
  const node = inspection.nodes.find(({ id }) => id === selection.single);
  const link = inspection.links.find(({ id }) => `link:${id}` === selection.single);
  return (
    <CaptureAddresses.Provider value={addresses}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the panel that is open in it */}
      <div
        class={`workbench${route.text === true && control.state.isLoaded ? " with-text" : ""}`}
        ref={selection.container}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          setPen(undefined);
          if ((event.target as Element).closest(".panel") !== null) selection.close();
        }}
      >
        {route.text === true && control.state.isLoaded && <TextPane control={control} line={text.line} onClose={() => text.show(false)} />}
        <div class="drawing">
          <Topology
            graph={graph}
            live={live}
            selected={selection.selected}
            onSelect={selection.select}
            // Also while the rights are unknown: the consoles wait for them.
            onOpen={(id) => {
              if (isShapeId(id)) selection.select(id, { byKeyboard: true });
              else if (textIndex(id) !== undefined) actions?.beginRename(id);
              else if (rights.operate || rights.reason === undefined) openConsole(id);
              else selection.select(id, {});
            }}
            onMove={actions?.move}
            onLink={actions?.link}
            pen={actions === undefined ? undefined : pen}
            onDraw={
              actions &&
              ((shape) => {
                setPen(undefined);
                actions.addShape(shape);
              })
            }
            onResize={actions && ((id, shape) => actions.setShapes(new Map([[id, shape]])))}
            onFrame={selection.selectAll}
            onKey={onKey}
            onMenu={setMenu}
            Overlay={traffic?.Overlay}
            captured={links.captured}
            onPackets={showPackets && ((id) => showPackets(inspection.links.find((one) => one.id === id)?.key))}
            places={places}
            tools={
              <>
                {control.state.isLoaded && (
                  <DrawTools
                    actions={actions}
                    isAdding={isAdding}
                    onAdding={setAdding}
                    showsText={route.text === true}
                    onText={() => text.show(route.text !== true)}
                    onKeys={() => setShowsKeys(true)}
                  />
                )}
                <TrafficSwitch
                  lab={lab}
                  isOn={route.traffic === true}
                  onSwitch={(isOn) => go({ traffic: isOn })}
                  selection={trafficSelection(node, link)}
                  onTraffic={setTraffic}
                  onRates={() => go({ drawer: "traffic", node: undefined, capture: undefined })}
                />
              </>
            }
          />
          {actions !== undefined && isAdding && (
            <Palette
              {...bench.catalogue}
              onAdd={actions.add}
              pen={pen}
              onPen={setPen}
              onClose={() => {
                setAdding(false);
                setPen(undefined);
              }}
            />
          )}
          {actions !== undefined && chosenShapes.length > 0 && chosenShapes.length === selection.selected.size && (
            <ShapePanel shapes={chosenShapes} actions={actions} onClose={selection.close} />
          )}
          <PartPanel
            {...props}
            history={bench.history}
            shown={shown}
            node={node}
            link={link}
            selection={selection}
            onConsole={openConsole}
            onShell={openShell}
          />
          <div class="bars" ref={bars}>
            <SelectedParts
              inspection={inspection}
              graph={graph}
              selected={selection.selected}
              actions={actions}
              power={rights.operate ? power : undefined}
              links={links}
              menu={isOfSelection ? menu : undefined}
              onConsoles={openConsoles}
              onShells={openShells}
              onWipe={setWiping}
              onMenuClose={() => setMenu(undefined)}
            />
            {drawing.problem !== undefined && (
              <p class="notice" role="alert">
                {drawing.problem}
              </p>
            )}
            {power.error !== undefined && <Problem error={power.error} />}
            {links.error !== undefined && <Problem error={links.error} />}
            {actions !== undefined && <ChangeBar lab={lab} control={control} preview={preview} onLine={text.showLine} />}
          </div>
        </div>
        <LabDrawer
          {...props}
          power={rights.operate ? power : undefined}
          links={links}
          selection={selection}
          traffic={traffic?.traffic}
          onPackets={showPackets}
          go={go}
          onConsole={openConsole}
        />
      </div>
      {menu !== undefined && !isOfSelection && (
        <PartMenu
          inspection={inspection}
          menu={menu}
          selection={selection}
          actions={actions}
          power={rights.operate ? power : undefined}
          links={links}
          onConsole={openConsole}
          onShell={openShell}
          onWipe={(nodes) => setWiping(nodes)}
          onConfig={(id) => {
            setShown({ section: "configuration" });
            selection.select(id, { byKeyboard: true });
          }}
          onAdd={() => setAdding(true)}
          allIds={allIds}
          onClose={() => setMenu(undefined)}
        />
      )}
      <BenchDialogs
        draws={draws}
        showsKeys={showsKeys}
        onKeysClose={() => setShowsKeys(false)}
        wiping={wiping}
        onWipe={(nodes) => {
          power.run("wipe", nodes);
          setWiping(undefined);
        }}
        onWipeCancel={() => setWiping(undefined)}
      />
    </CaptureAddresses.Provider>
  );
}

/** Returns the function that shows the packets of a link, by its key. */
function packetsOf(capture: LinkActions["capture"], { links }: InspectionData): ((key: string | undefined) => void) | undefined {
  if (capture === undefined) return undefined;
  return (key) => {
    const link = links.find((one) => one.key === key);
    if (link !== undefined) capture(link);
  };
}

function trafficSelection(node: InspectedNode | undefined, link: InspectedLink | undefined): TrafficSelection | undefined {
  if (node !== undefined) return { kind: "node", key: nodeKey(node) };
  return link === undefined ? undefined : { kind: "link", key: link.key };
}
