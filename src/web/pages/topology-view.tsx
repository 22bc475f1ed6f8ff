import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import { nodeKey } from "../../base/node-key.ts";
import type { InspectedLink, InspectedNode, InspectionData, LiveNodeData } from "../../contract/schemas/observe.ts";
import type { PlanData } from "../../contract/schemas/plan.ts";
import { hasConsole } from "../consoles/has-console.ts";
import type { LabRights } from "../labs/lab-rights.ts";
import { LinkPanel } from "../panels/link-panel.tsx";
import { NodePanel } from "../panels/node-panel.tsx";
import type { Answer } from "../parts/use-answer.ts";
import { type OverlayProps, Topology } from "../topology/topology.tsx";

import { TrafficSwitch } from "../traffic/traffic-switch.tsx";
import type { TrafficSelection } from "../traffic/use-traffic.ts";
import { SavingBar } from "./saving-bar.tsx";
import { useMoves } from "./use-moves.ts";
import { useSelection } from "./use-selection.ts";

interface TopologyViewProps {
  readonly lab: string;
  readonly inspection: InspectionData;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  readonly rights: LabRights;
  /** Reads the lab again. */
  readonly reload: () => void;
  /** Reads the state of its nodes again. */
  readonly reloadStatus: () => void;
  readonly drift: Answer<PlanData | undefined>;
  /** Opens the console of a node, by the host's id. */
  readonly onConsole: (id: string) => void;
}

/** Draws a lab, with a panel for the selected node or link, and a bar for moves that are not saved. */
export function TopologyView({ lab, inspection, live, rights, reload, reloadStatus, drift, onConsole }: TopologyViewProps) {
  const [overlay, setOverlay] = useState<ComponentType<OverlayProps>>();
  const moved = useMoves(lab, inspection, reload);
  const { selected, container, select, close } = useSelection();
  const node = inspection.nodes.find(({ id }) => id === selected);
  const link = inspection.links.find(({ id }) => `link:${id}` === selected);
  return (
    <>
      <SavingBar {...moved} />
      <TrafficSwitch lab={lab} selection={trafficSelection(node, link)} onOverlay={(next) => setOverlay(() => next)} />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the panel that is open in it */}
      <div
        class="split"
        ref={container}
        onKeyDown={(event) => {
          if (event.key === "Escape" && (event.target as Element).closest(".panel") !== null) close();
        }}
      >
        <Topology
          graph={moved.graph}
          live={live}
          selected={selected}
          onSelect={select}
          // Also while the rights are unknown: the view of consoles waits for them.
          onOpen={rights.operate || rights.reason === undefined ? onConsole : undefined}
          onMove={rights.edit ? moved.move : undefined}
          Overlay={overlay}
        />
        {node !== undefined && (
          <NodePanel
            lab={lab}
            mode={inspection.mode}
            node={node}
            live={live.get(node.id)}
            drift={drift}
            mayChange={rights.operate}
            reloadStatus={reloadStatus}
            onLink={(key) => select(`link:${inspection.links.find((one) => one.key === key)?.id}`, false)}
            onConsole={rights.operate && hasConsole(node) ? () => onConsole(node.id) : undefined}
            onClose={close}
          />
        )}
        {link !== undefined && (
          <LinkPanel
            key={link.id}
            lab={lab}
            link={link}
            interfaces={link.endpoints.map((end) => interfaceAt(inspection, end))}
            rights={rights}
            onClose={close}
            onChanged={reload}
          />
        )}
      </div>
    </>
  );
}

function trafficSelection(node: InspectedNode | undefined, link: InspectedLink | undefined): TrafficSelection | undefined {
  if (node !== undefined) return { kind: "node", key: nodeKey(node) };
  return link === undefined ? undefined : { kind: "link", key: link.key };
}

/** Returns the interface at an end of a link, "r1:eth1"; undefined for a network's key. */
function interfaceAt({ nodes }: InspectionData, end: string) {
  const colon = end.indexOf(":");
  if (colon < 0) return undefined;
  const [nodeName, interfaceName] = [end.slice(0, colon), end.slice(colon + 1)];
  return nodes.find((one) => nodeKey(one) === nodeName)?.interfaces.find((one) => one.name === interfaceName);
}
