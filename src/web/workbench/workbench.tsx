import type { InspectionData, LiveNodeData } from "../../contract/schemas/observe.ts";
import type { PlanData } from "../../contract/schemas/plan.ts";
import { CaptureAddresses } from "../captures/capture-routes.ts";
import type { LabRights } from "../labs/lab-rights.ts";
import { lazy } from "../parts/lazy.tsx";
import type { LabRoute } from "../parts/route.ts";
import type { Answer } from "../parts/use-answer.ts";
import type { PlanControl } from "../plan/control/use-plan.ts";
import { BenchBars } from "./bench-bars.tsx";
import { BenchDrawing } from "./bench-drawing.tsx";
import { BenchPanels } from "./bench-panels.tsx";
import { BenchDialogs } from "./dialogs/bench-dialogs.tsx";
import { LabDrawer } from "./lab-drawer.tsx";
import { useBench } from "./use-bench.ts";
import "./workbench.css";

/** Loaded when the first menu is opened. */
const PartMenu = lazy(async () => ({ default: (await import("./part-menu.tsx")).PartMenu }));

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
  const { route, inspection, rights, control } = props;
  const bench = useBench(props);
  const { actions, view, selection, power, links, text } = bench;
  const { menu } = view;
  const usablePower = rights.operate ? power : undefined;
  const showsText = route.text === true && control.state.isLoaded;
  return (
    <CaptureAddresses.Provider value={bench.addresses}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the panel that is open in it */}
      <div
        class={`workbench${showsText ? " with-text" : ""}`}
        ref={selection.container}
        onPointerDownCapture={actions?.prepare}
        onKeyDownCapture={actions?.prepare}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          view.setPen(undefined);
          if ((event.target as Element).closest(".panel") !== null) selection.close();
        }}
      >
        {showsText && <TextPane control={control} line={text.line} onClose={() => text.show(false)} />}
        <div class="drawing">
          <BenchDrawing {...props} bench={bench} />
          <BenchPanels {...props} bench={bench} />
          <BenchBars {...props} bench={bench} />
        </div>
        <LabDrawer
          {...props}
          power={usablePower}
          links={links}
          selection={selection}
          traffic={view.traffic?.traffic}
          onPackets={bench.showPackets}
          go={bench.go}
          onConsole={bench.openConsole}
        />
      </div>
      {menu !== undefined && !bench.isMenuOfSelection && (
        <PartMenu
          inspection={inspection}
          menu={menu}
          selection={selection}
          actions={actions}
          power={usablePower}
          links={links}
          onConsole={bench.openConsole}
          onShell={bench.openShell}
          onWipe={view.setWiping}
          onConfig={(id) => {
            view.showSection("configuration");
            selection.select(id, { byKeyboard: true });
          }}
          onAdd={() => view.setAdding(true)}
          allIds={bench.allIds}
          onClose={() => view.setMenu(undefined)}
        />
      )}
      <BenchDialogs
        draws={bench.draws}
        showsKeys={view.showsKeys}
        onKeysClose={() => view.setShowsKeys(false)}
        wiping={view.wiping}
        onWipe={(nodes) => {
          power.run("wipe", nodes);
          view.setWiping(undefined);
        }}
        onWipeCancel={() => view.setWiping(undefined)}
      />
    </CaptureAddresses.Provider>
  );
}
