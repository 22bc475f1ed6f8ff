import { useRef } from "preact/hooks";
import { lazy } from "../parts/lazy.tsx";
import { Problem } from "../parts/problem.tsx";
import { ChangeBar } from "../plan/change-bar.tsx";
import { useBarsHeight } from "./actions/use-bars-height.ts";
import type { Bench } from "./use-bench.ts";
import type { WorkbenchProps } from "./workbench.tsx";

/** Loaded when several parts are selected for the first time. */
const SelectedParts = lazy(async () => ({ default: (await import("./selection/selected-parts.tsx")).SelectedParts }));

interface BenchBarsProps extends Pick<WorkbenchProps, "lab" | "inspection" | "rights" | "control"> {
  readonly bench: Bench;
}

/** The bars below the drawing: of the selected parts, of refused actions, and of the changes that are not applied. */
export function BenchBars({ lab, inspection, rights, control, bench }: BenchBarsProps) {
  const { actions, view, selection, drawing, power, links } = bench;
  const bars = useBarsHeight();
  const wereSeveral = useRef(false);
  if (selection.selected.size > 1) wereSeveral.current = true;
  return (
    <div class="bars" ref={bars}>
      {wereSeveral.current && (
        <SelectedParts
          inspection={inspection}
          graph={bench.graph}
          selected={selection.selected}
          actions={actions}
          power={rights.operate ? power : undefined}
          links={links}
          menu={bench.isMenuOfSelection ? view.menu : undefined}
          onConsoles={bench.openConsoles}
          onShells={bench.openShells}
          onWipe={view.setWiping}
          onMenuClose={() => view.setMenu(undefined)}
        />
      )}
      {drawing.problem !== undefined && (
        <p class="notice" role="alert">
          {drawing.problem}
        </p>
      )}
      {power.error !== undefined && <Problem error={power.error} />}
      {links.error !== undefined && <Problem error={links.error} />}
      {actions !== undefined && <ChangeBar lab={lab} control={control} preview={bench.preview} onLine={bench.text.showLine} />}
    </div>
  );
}
