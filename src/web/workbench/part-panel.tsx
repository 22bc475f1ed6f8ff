import { nodeKey } from "../../base/node-key.ts";
import type { InspectedInterface, InspectedLink, InspectedNode, InspectionData } from "../../contract/schemas/observe.ts";
import { hasConsole } from "../consoles/has-console.ts";
import type { LoadHistory } from "../load/load-history.ts";
import { LinkPanel } from "../panels/link-panel.tsx";
import { NodePanel } from "../panels/node-panel.tsx";
import type { Selection } from "./actions/use-selection.ts";
import type { WorkbenchProps } from "./workbench.tsx";

interface PartPanelProps extends Pick<WorkbenchProps, "lab" | "inspection" | "live" | "rights" | "reload" | "reloadStatus" | "drift"> {
  readonly history: LoadHistory;
  /** The section of the panel that a menu opened; a new object each time. */
  readonly shown: { readonly section: string } | undefined;
  readonly onConsole: (id: string) => void;
  readonly onShell: (id: string) => void;
  readonly node: InspectedNode | undefined;
  readonly link: InspectedLink | undefined;
  readonly selection: Selection;
}

/** The panel of the selected node or link, over the drawing. */
export function PartPanel({
  lab,
  inspection,
  live,
  rights,
  reload,
  reloadStatus,
  drift,
  history,
  shown,
  onConsole,
  onShell,
  node,
  link,
  selection,
}: PartPanelProps) {
  const { select, close } = selection;
  if (node !== undefined) {
    return (
      <NodePanel
        lab={lab}
        mode={inspection.mode}
        node={node}
        live={live.get(node.id)}
        load={history.get(node.id) ?? []}
        drift={drift}
        shown={shown}
        mayChange={rights.operate}
        reloadStatus={reloadStatus}
        reload={reload}
        peerOf={(port) => peerOf(inspection, live, port)}
        onLink={(key) => select(`link:${inspection.links.find((one) => one.key === key)?.id}`, {})}
        onConsole={rights.operate && hasConsole(node) ? () => onConsole(node.id) : undefined}
        onShell={rights.operate && hasConsole(node) ? () => onShell(node.id) : undefined}
        onClose={close}
      />
    );
  }
  if (link === undefined) return null;
  return (
    <LinkPanel
      key={link.id}
      lab={lab}
      link={link}
      interfaces={link.endpoints.map((end) => interfaceAt(inspection, end))}
      rights={rights}
      onClose={close}
      onChanged={reload}
    />
  );
}

/** Returns the state of the other end of an interface's link. */
function peerOf(inspection: InspectionData, live: WorkbenchProps["live"], { peer }: InspectedInterface) {
  const end = peer?.includes(":") === true ? peer : undefined;
  const node = inspection.nodes.find((one) => end !== undefined && nodeKey(one) === end.slice(0, end.indexOf(":")));
  return {
    isPeerSuspended: end !== undefined && interfaceAt(inspection, end)?.suspended === true,
    peerStatus: node && (live.get(node.id)?.status ?? node.status),
  };
}

/** Returns the interface at an end of a link, "r1:eth1"; undefined for a network's key. */
function interfaceAt({ nodes }: InspectionData, end: string) {
  const colon = end.indexOf(":");
  if (colon < 0) return undefined;
  const [nodeName, interfaceName] = [end.slice(0, colon), end.slice(colon + 1)];
  return nodes.find((one) => nodeKey(one) === nodeName)?.interfaces.find((one) => one.name === interfaceName);
}
