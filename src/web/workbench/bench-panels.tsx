import { lazy } from "../parts/lazy.tsx";
import { PartPanel } from "./part-panel.tsx";
import type { Bench } from "./use-bench.ts";
import type { WorkbenchProps } from "./workbench.tsx";

/** Loaded when it is first opened. */
const Palette = lazy(() => import("./palette.tsx"));

/** Loaded when it is first opened. */
const ShapePanel = lazy(() => import("./shape-panel.tsx"));

/** The panels over the drawing: the palette, and the panel of the selected part or shapes. */
export function BenchPanels({ bench, ...props }: WorkbenchProps & { readonly bench: Bench }) {
  const { actions, view, selection, graph } = bench;
  const shapes = graph.shapes.filter(({ id }) => selection.selected.has(id));
  return (
    <>
      {actions !== undefined && view.isAdding && (
        <Palette
          {...bench.catalogue}
          onAdd={actions.add}
          pen={view.pen}
          onPen={view.setPen}
          onClose={() => {
            view.setAdding(false);
            view.setPen(undefined);
          }}
        />
      )}
      {actions !== undefined && shapes.length > 0 && shapes.length === selection.selected.size && (
        <ShapePanel shapes={shapes} actions={actions} onClose={selection.close} />
      )}
      <PartPanel
        {...props}
        history={bench.history}
        shown={view.section}
        node={bench.node}
        link={bench.link}
        selection={selection}
        onConsole={bench.openConsole}
        onShell={bench.openShell}
      />
    </>
  );
}
