import { useMemo, useRef } from "preact/hooks";
import { LabwrightError } from "../../client/browser.ts";
import type { EventData, InspectionData, LiveNodeData, StatusData } from "../../contract/schemas/observe.ts";
import { ImportMark } from "../imports/import-mark.tsx";
import { DriftMark } from "../labs/drift-mark.tsx";
import { LabHostButtons } from "../labs/lab-host-buttons.tsx";
import { LabPower } from "../labs/lab-power.tsx";
import { labRights } from "../labs/lab-rights.ts";
import { DeployWarnings } from "../labs/notices/deploy-warnings-list.tsx";
import { LeaseMark, LeaseNotice } from "../labs/notices/lease-notice.tsx";
import { useDrift } from "../labs/use-drift.ts";
import { lazy } from "../parts/lazy.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { type LabRoute, type LabView, labViews } from "../parts/route.ts";
import { useAnswer } from "../parts/use-answer.ts";
import { usePolling } from "../parts/use-polling.ts";
import { useTitle } from "../parts/use-title.ts";
import { usePlan } from "../plan/control/use-plan.ts";
import { call } from "../service/api.ts";
import { useEvents } from "../service/events.ts";
import { Presence } from "../share/presence.tsx";
import { ShareButton } from "../share/share-button.tsx";
import { usePresence } from "../share/use-presence.ts";
import { liveOnlyLinks } from "../topology/graph/quality-text.ts";
import { shownStatus } from "../topology/graph/shown-status.ts";
import { Workbench } from "../workbench/workbench.tsx";

const titles: Readonly<Record<LabView, string>> = {
  topology: "Topology",
  plan: "Edit",
  consoles: "Consoles",
  captures: "Captures",
  tests: "Tests",
};

/** Loaded when needed: the terminal and the editor are larger than the rest of the pages. */
const Consoles = lazy(() => import("../consoles/consoles.tsx"));
const PlanPage = lazy(() => import("../plan/plan-page.tsx"));

const Captures = lazy(() => import("../captures/captures-view.tsx"));
const Tests = lazy(() => import("../lab-tests/lab-tests-view.tsx"));

/** How often the state of nodes that are booting is read, ms. */
const bootingPollMs = 2_000;

interface LabPageProps {
  readonly route: LabRoute;
  /** The user who is signed in. */
  readonly user: string | undefined;
  readonly mayChange: boolean;
}

/** The page of a lab: its state and actions, and one of its views. */
export function LabPage({ route, user, mayChange }: LabPageProps) {
  const { lab, view } = route;
  useTitle(`${lab.split("/").at(-1)}: ${titles[view]}`);
  // After the first request, the lab is read because it changed: the service's cached inspection would be outdated.
  const refresh = useRef(false);
  const inspection = useAnswer(
    async (signal) => {
      const data = await call("inspectProject", { lab, refresh: refresh.current }, { signal });
      refresh.current = true;
      return data;
    },
    [lab],
  );
  const status = useAnswer((signal) => call("getProjectStatus", { lab }, { signal }), [lab]);
  const managed = inspection.data === undefined ? undefined : inspection.data.mode !== "load";
  const drift = useDrift(lab, managed);
  const onEvent = (event: EventData) => {
    status.again();
    if (changesFailure(event)) drift.again();
    if (!changesShape(event, inspection.data)) return;
    inspection.again();
    drift.again();
  };
  useEvents(lab, onEvent, { enabled: !isGone(status.error) });
  const here = usePresence(lab, !isGone(status.error));
  const rights = labRights(!mayChange, status.data);
  // The rights decide how the text is read: as written, or without secrets.
  const isReadable = managed === true && status.data !== undefined;
  const control = usePlan({ lab, isManaged: isReadable, mayChange: rights.edit, onLabChanged: inspection.again });
  const live = useMemo(() => new Map((status.data?.live?.nodes ?? []).map((node) => [node.id, node] as const)), [status.data]);
  // No event reports that a node has become ready: its checks run when somebody reads their results.
  usePolling(() => [...live.values()].some((node) => shownStatus(node) === "booting") && status.again(), bootingPollMs);
  const error = status.error ?? inspection.error;
  // A deleted lab must not be shown with the data of before.
  if (inspection.data === undefined || isGone(status.error)) {
    return error === undefined ? <p class="waiting">Reading {lab}…</p> : <NoLab lab={lab} error={error} retry={inspection.again} />;
  }
  const running = status.data?.operation;
  const liveOnly = liveOnlyLinks(inspection.data.links);
  const reload = () => {
    inspection.again();
    status.again();
  };
  return (
    <section class="lab">
      <div class="lab-head">
        <h1 title={inspection.data.name}>{inspection.data.name}</h1>
        <nav aria-label="Views of the lab">
          {labViews.map((one) => (
            <Link key={one} to={{ page: "lab", lab, view: one }} class={one === view ? "here" : ""}>
              {titles[one]}
            </Link>
          ))}
        </nav>
        <span class="summary">{summary([...live.values()])}</span>
        {managed === true ? <DriftMark lab={lab} drift={drift} /> : <span class="mark">only on its host</span>}
        {liveOnly > 0 && (
          <span
            class="mark warn"
            title="Changed on the running links only: the text of the lab has other values. The panel of a link takes them back."
          >
            {liveOnly === 1 ? "1 link" : `${liveOnly} links`} impaired live only
          </span>
        )}
        <ImportMark lab={lab} source={status.data?.source} />
        {rights.reason !== undefined && <span class="mark">{rights.reason}</span>}
        {inspection.data.locked && <span class="mark">locked</span>}
        <LeaseMark lease={status.data?.lease} />
        <Presence users={here} user={user} />
        {running !== undefined && (
          <span class="mark busy" title={runningText(running)}>
            {runningText(running)}
          </span>
        )}
        {rights.operate && managed === true && <LabPower lab={lab} nodes={[...live.values()]} resume={status.data?.resume} />}
        {managed === true && mayChange && status.data?.right === "own" && <ShareButton lab={lab} />}
        {rights.edit && managed === true && (
          <LabHostButtons lab={lab} locked={inspection.data.locked} nodes={status.data?.live?.nodes} reload={reload} />
        )}
      </div>
      {error !== undefined && <Problem error={error} />}
      <LeaseNotice lab={lab} lease={status.data?.lease} mayExtend={rights.operate} onExtended={status.again} />
      <DeployWarnings lab={lab} />
      {view === "topology" && (
        <Workbench
          lab={lab}
          route={route}
          inspection={inspection.data}
          live={live}
          rights={rights}
          control={control}
          reload={inspection.again}
          reloadStatus={status.again}
          drift={drift}
        />
      )}
      {view === "plan" && <PlanPage lab={lab} inspection={inspection.data} live={live} control={control} drift={drift.data} />}
      {view === "captures" && <Captures lab={lab} nodes={inspection.data.nodes} mayChange={rights.operate} />}
      {view === "tests" && <Tests lab={lab} mayRun={rights.operate} />}
      {view === "consoles" && rights.reason !== undefined && !rights.operate && (
        <div class="empty">
          <h2>You may not use the consoles of this lab</h2>
          <p>This lab is {rights.reason}.</p>
        </div>
      )}
      {view === "consoles" && rights.operate && (
        <Consoles
          lab={lab}
          nodes={inspection.data.nodes}
          live={live}
          node={route.node}
          addressOf={(node) => ({ page: "lab", lab, view: "consoles", node })}
        />
      )}
    </section>
  );
}

function NoLab({ lab, error, retry }: { readonly lab: string; readonly error: unknown; readonly retry: () => void }) {
  return (
    <section>
      <h1>{lab}</h1>
      <Problem error={error} {...(!isGone(error) && { retry })} />
      <p>
        <Link to={{ page: "labs" }}>See your labs</Link>
      </p>
    </section>
  );
}

function isGone(error: unknown): boolean {
  return error instanceof LabwrightError && error.code === "lab_not_found";
}

/** Whether an event may change the lab's nodes, links or their fields, and not only the state of nodes. */
function changesShape({ type, data }: EventData, inspection: InspectionData | undefined): boolean {
  const { id, removed, outcome } = (data ?? {}) as { readonly id?: string; readonly removed?: boolean; readonly outcome?: string };
  if (type === "job") return outcome !== undefined;
  // A node can also be created or deleted while a change runs, or directly on the host.
  if (type === "node") return removed === true || inspection?.nodes.every((node) => node.id !== id) === true;
  return type === "lab" || type === "link" || type === "gap";
}

/** Whether a node failed, or a failed one changed: the plan of the text starts failed nodes. */
function changesFailure({ type, data }: EventData): boolean {
  const { status, previous } = (data ?? {}) as { readonly status?: string; readonly previous?: string };
  return type === "node" && (status === "failed" || previous === "failed");
}

function runningText({ name, user, step, steps }: NonNullable<StatusData["operation"]>): string {
  return `${name} by ${user}: step ${step} of ${steps}`;
}

function summary(nodes: readonly LiveNodeData[]): string {
  const counts = new Map<string, number>();
  for (const node of nodes) counts.set(shownStatus(node), (counts.get(shownStatus(node)) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${status}`).join(", ");
}
