import { nodeKey } from "../../base/node-key.ts";
import type { InspectedLink, InspectedNode } from "../../contract/schemas/observe.ts";
import { isShapeId } from "../topology/shapes/shapes.ts";
import { isTextId } from "../topology/shapes/texts.ts";
import { Topology } from "../topology/topology.tsx";
import { TrafficSwitch } from "../traffic/traffic-switch.tsx";
import type { TrafficSelection } from "../traffic/use-traffic.ts";
import { DrawTools } from "./draw-tools.tsx";
import type { Bench } from "./use-bench.ts";
import type { WorkbenchProps } from "./workbench.tsx";

interface BenchDrawingProps extends Pick<WorkbenchProps, "lab" | "route" | "inspection" | "live" | "rights" | "control"> {
  readonly bench: Bench;
}

/** The drawing of a lab with the tools above it, connected to the actions of the page. */
export function BenchDrawing({ lab, route, inspection, live, rights, control, bench }: BenchDrawingProps) {
  const { actions, view, selection, text, go, showPackets } = bench;
  const open = (id: string) => {
    if (isShapeId(id)) selection.select(id, { byKeyboard: true });
    else if (isTextId(id)) actions?.beginRename(id);
    // Also while the rights are unknown: the consoles wait for them.
    else if (rights.operate || rights.reason === undefined) bench.openConsole(id);
    else selection.select(id, {});
  };
  return (
    <Topology
      graph={bench.graph}
      live={live}
      selected={selection.selected}
      onSelect={selection.select}
      onOpen={open}
      {...(actions && editsOf(bench, actions))}
      onFrame={selection.selectAll}
      onKey={bench.onKey}
      onMenu={view.setMenu}
      Overlay={view.traffic?.Overlay}
      captured={bench.links.captured}
      onPackets={showPackets && ((id) => showPackets(inspection.links.find((one) => one.id === id)?.key))}
      places={bench.places}
      tools={
        <>
          {control.state.isLoaded && (
            <DrawTools
              actions={actions}
              isAdding={view.isAdding}
              onAdding={view.setAdding}
              showsText={route.text === true}
              onText={() => text.show(route.text !== true)}
              onKeys={() => view.setShowsKeys(true)}
            />
          )}
          <TrafficSwitch
            lab={lab}
            isOn={route.traffic === true}
            onSwitch={(isOn) => go({ traffic: isOn })}
            selection={trafficSelection(bench.node, bench.link)}
            onTraffic={view.setTraffic}
            onRates={() => go({ drawer: "traffic", node: undefined, capture: undefined })}
          />
        </>
      }
    />
  );
}

/** The edits of the drawing by the pointer and by keys of the drawing itself. */
function editsOf({ view }: Bench, actions: NonNullable<Bench["actions"]>) {
  return {
    onMove: actions.move,
    onStep: actions.step,
    onLink: actions.link,
    pen: view.pen,
    onDraw: (shape: Parameters<typeof actions.addShape>[0]) => {
      view.setPen(undefined);
      actions.addShape(shape);
    },
    onResize: (id: string, changed: Parameters<typeof actions.setShapes>[1]) => actions.setShapes(new Set([id]), changed),
  };
}

function trafficSelection(node: InspectedNode | undefined, link: InspectedLink | undefined): TrafficSelection | undefined {
  if (node !== undefined) return { kind: "node", key: nodeKey(node) };
  return link === undefined ? undefined : { kind: "link", key: link.key };
}
