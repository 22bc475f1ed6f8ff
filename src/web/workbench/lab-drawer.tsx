import type { InspectionData, LiveNodeData } from "../../contract/schemas/observe.ts";
import { Drawer } from "../drawer/drawer.tsx";
import { DrawerPart } from "../drawer/drawer-part.tsx";
import { EventLog } from "../drawer/event-log.tsx";
import { linkRows } from "../drawer/link-rows.ts";
import { nodeRows } from "../drawer/node-rows.ts";
import { useEventLog } from "../drawer/use-event-log.ts";
import type { LabRights } from "../labs/lab-rights.ts";
import { lazy } from "../parts/lazy.tsx";
import { type DrawerTab, type LabRoute, labRouteNow } from "../parts/route.ts";
import { useFeature } from "../parts/use-feature.ts";
import type { PlanControl } from "../plan/control/use-plan.ts";
import type { LiveTraffic } from "../traffic/feed/live-traffic.ts";
import type { LinkActions } from "./actions/use-link-actions.ts";
import type { NodesPower } from "./actions/use-nodes-power.ts";
import type { Selection } from "./actions/use-selection.ts";

const Consoles = lazy(() => import("../consoles/consoles.tsx"));
const Captures = lazy(() => import("../captures/captures-view.tsx"));
const CapturePage = lazy(() => import("../captures/capture-page.tsx"));
const JobList = lazy(() => import("../jobs/job-list.tsx"));
const HistoryView = lazy(() => import("../history/history-view.tsx"));
const TrafficRates = lazy(async () => ({ default: (await import("../traffic/traffic-rates-tab.tsx")).TrafficRates }));
const LinkTable = lazy(() => import("../drawer/link-table.tsx"));
const NodeTable = lazy(() => import("../drawer/node-table.tsx"));

interface LabDrawerProps {
  readonly route: LabRoute;
  readonly inspection: InspectionData;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  readonly rights: LabRights;
  readonly control: PlanControl;
  readonly power: NodesPower | undefined;
  readonly links: LinkActions;
  readonly selection: Selection;
  /** The watched traffic; undefined: it is off. */
  readonly traffic: LiveTraffic | undefined;
  /** Shows the packets of a link, by its key; undefined: not allowed. */
  readonly onPackets: ((link: string) => void) | undefined;
  /** Changes the address. */
  readonly go: (change: Partial<LabRoute>) => void;
  readonly onConsole: (id: string) => void;
  readonly reloadStatus: () => void;
  readonly reload: () => void;
}

/** The drawer of a lab: its consoles, captures, traffic, nodes, events, jobs and history. */
export function LabDrawer(props: LabDrawerProps) {
  const { route, inspection, live, rights, control, power, selection, traffic, go, onConsole, reloadStatus, reload } = props;
  const { lab, node, capture } = route;
  const lines = useEventLog(lab);
  const hasTraffic = useFeature("traffic").data === true;
  const tabs = tabsFor({ hasTraffic, mayOperate: rights.operate, isManaged: inspection.mode !== "load" });
  // An address can name a tab that the right of the user or the host does not offer.
  const open = tabs.some(([tab]) => tab === route.drawer) ? route.drawer : undefined;
  return (
    <Drawer tabs={tabs} open={open} onOpen={(tab) => go({ drawer: tab, node: undefined, capture: undefined })}>
      {rights.operate && (
        <DrawerPart tab="consoles" open={open} stays>
          <Consoles
            lab={lab}
            nodes={inspection.nodes}
            live={live}
            node={open === "consoles" ? node : undefined}
            addressOf={open === "consoles" ? (shown) => ({ ...labRouteNow(lab), node: shown }) : undefined}
          />
        </DrawerPart>
      )}
      <DrawerPart tab="captures" open={open}>
        {capture === undefined ? (
          <Captures lab={lab} nodes={inspection.nodes} mayChange={rights.operate} />
        ) : (
          <CapturePage key={capture} capture={capture} mayChange={rights.operate} />
        )}
      </DrawerPart>
      <DrawerPart tab="traffic" open={open}>
        <TrafficRates lab={lab} traffic={traffic} onPackets={props.onPackets} onStart={() => go({ traffic: true })} />
      </DrawerPart>
      <DrawerPart tab="nodes" open={open}>
        <NodeTable
          rows={nodeRows(inspection.nodes, live)}
          reloadStatus={reloadStatus}
          reload={reload}
          onSelect={(id) => selection.select(id, { byKeyboard: true })}
          onConsole={(id) => onConsole(id)}
          onPower={power?.run}
        />
      </DrawerPart>
      <DrawerPart tab="links" open={open}>
        <LinkTable
          rows={linkRows(inspection.links)}
          onSelect={(id) => selection.select(id, { byKeyboard: true })}
          onSuspend={rights.operate ? props.links.suspend : undefined}
          onCapture={rights.operate ? props.links.capture : undefined}
          error={props.links.error}
        />
      </DrawerPart>
      <DrawerPart tab="log" open={open}>
        <EventLog lines={lines} />
      </DrawerPart>
      <DrawerPart tab="jobs" open={open}>
        <JobList lab={lab} mayCancel={rights.operate} />
      </DrawerPart>
      <DrawerPart tab="history" open={open}>
        <HistoryView lab={lab} onReturn={rights.edit && control.mayEdit ? control.returnTo : undefined} />
      </DrawerPart>
    </Drawer>
  );
}

interface TabInput {
  readonly hasTraffic: boolean;
  readonly mayOperate: boolean;
  /** Whether the service has a record of the lab. */
  readonly isManaged: boolean;
}

/** Returns the tabs that the host and the right of the user allow. */
function tabsFor({ hasTraffic, mayOperate, isManaged }: TabInput): readonly (readonly [DrawerTab, string])[] {
  return [
    ...(mayOperate ? [["consoles", "Consoles"] as const] : []),
    ["captures", "Captures"],
    ...(hasTraffic ? [["traffic", "Traffic"] as const] : []),
    ["nodes", "Nodes"],
    ["links", "Links"],
    ["log", "Log"],
    ["jobs", "Jobs"],
    ...(isManaged ? [["history", "History"] as const] : []),
  ];
}
