import { Failure } from "../contract/errors.ts";
import type { ChangeOperationId, DataOf } from "../contract/operations.ts";
import type { JobStarted } from "../contract/schemas/jobs.ts";
import type { InspectionData } from "../contract/schemas/observe.ts";
import type { Host } from "../hosts/host.ts";
import { Captures } from "./captures/captures.ts";
import { Idempotency } from "./changes/idempotency.ts";
import { completeLinkInterfaces, previewInterfaces } from "./checks/authoring.ts";
import { validateProject } from "./checks/validate.ts";
import type { Call, Caller } from "./common/call.ts";
import { capabilities } from "./common/capabilities.ts";
import { type Clock, systemClock } from "./common/clock.ts";
import type { Log } from "./common/log.ts";
import { RecentMap } from "./common/recent-map.ts";
import {
  attachConsole,
  type ConsoleGrant,
  execConsole,
  execConsoleMany,
  listConsoles,
  readConsoleLog,
  runConsole,
  streamConsole,
} from "./consoles/consoles.ts";
import type { Context } from "./context/context.ts";
import { explainMoved } from "./context/moved.ts";
import { deleteQuarantined, explainAbsence, listQuarantine, restoreQuarantined } from "./context/quarantine.ts";
import { Events, type EventsLimits } from "./events/events.ts";
import { watchedStore } from "./events/watched-store.ts";
import { Jobs } from "./jobs/jobs.ts";
import { testProject } from "./lab-tests/test-project.ts";
import { Browsers, type WebUi } from "./labs/browsers.ts";
import { icons, listTemplates, networkTypes, templateAttributes, templateDetail, templateImages } from "./labs/catalogue.ts";
import { listDisks, removeDisks } from "./labs/disks.ts";
import { labGrants, setLabGrants } from "./labs/grants.ts";
import { inspectProject } from "./labs/inspect.ts";
import { setLabLock } from "./labs/lab-lock.ts";
import { listLabs } from "./labs/list-labs.ts";
import { getPicture, getTasks, listPictures } from "./labs/pictures.ts";
import { renumberProject } from "./labs/renumber.ts";
import { listSnapshots, removeSnapshot, restoreSnapshot, takeSnapshot } from "./labs/snapshots.ts";
import { projectStatus } from "./labs/status.ts";
import { applyLinkQuality, setLinkSuspend } from "./links/links.ts";
import { Metrics } from "./metrics/metrics.ts";
import { HostLoads } from "./observe/host-load.ts";
import { Observations } from "./observe/observations.ts";
import { execProject } from "./power/power.ts";
import { resumeLab, setLabResume } from "./power/resume.ts";
import { resumeLabs } from "./power/resume-labs.ts";
import { saveConfigs } from "./power/save-configs.ts";
import { adoptLab } from "./projects/adopt.ts";
import { deployProject } from "./projects/deploy.ts";
import { destroyProject } from "./projects/destroy.ts";
import { editProject, publicProject } from "./projects/edit-project.ts";
import { importProject } from "./projects/import-project.ts";
import { planProject } from "./projects/plan-project.ts";
import { reconcileProject } from "./projects/reconcile.ts";
import { recoverJobs } from "./recover.ts";
import type { Handlers, Service } from "./service.ts";
import { listHostUsers } from "./sessions/host-users.ts";
import { Sessions } from "./sessions/sessions.ts";
import { Tickets } from "./sessions/tickets.ts";
import type { ResumePolicy, Store } from "./store/store.ts";
import { ConsoleDesk } from "./streams/console-desk.ts";
import { LabIdentities } from "./streams/lab-identities.ts";
import { OpenStreams } from "./streams/open-streams.ts";
import { Traffic } from "./traffic/traffic.ts";
import type { PoolOptions } from "./work/pool.ts";
import { Work } from "./work/work.ts";
import { workUser } from "./work/work-user.ts";

export interface ServiceOptions {
  readonly host: Host;
  /** Closed with the service. */
  readonly store: Store;
  readonly clock?: Clock;
  readonly log: Log;
  /** Version of the program, as getHealth returns it. */
  readonly version: string;
  /** Default 12 h. */
  readonly sessionIdleMs?: number;
  /** Default 7 d. */
  readonly sessionAbsoluteMs?: number;
  /** The host's live state is read at most this often per lab. Default 250. */
  readonly statusIntervalMs?: number;
  /** How long close() waits for changes that run; what is left then is finished after the next start. Default 10,000. */
  readonly closeWaitMs?: number;
  /** A change that finishes no step within this time is cancelled, ms. Default 600,000. */
  readonly changeStallMs?: number;
  /** How long a cancelled change may wait for its current step, ms. Default 60,000. */
  readonly changeGraceMs?: number;
  /** Whether nodes are started again after a host restart, for labs without a policy. Default never. */
  readonly resume?: ResumePolicy;
  readonly events?: EventsLimits;
  /** Bounds for work on large intents. */
  readonly work?: PoolOptions;
  /** The web pages that are served beside the API. Absent: none, and open is unsupported. */
  readonly webUi?: WebUi;
}

const hour = 3_600_000;

/** All use cases over one host and one store. */
export function createService(options: ServiceOptions): Service {
  const { host, log, version, clock = systemClock } = options;
  const store = watchedStore(options.store, {
    record: (change, record) => {
      // Ends all streams of a lab that has got another owner or was deleted.
      if (change !== "updated") endLab(record.path);
      events.record(change, record);
    },
    job: (news) => {
      events.job(news);
      metrics.job(news);
    },
  });
  const sessions = new Sessions(host, store, clock, log, {
    idleMs: options.sessionIdleMs ?? 12 * hour,
    absoluteMs: options.sessionAbsoluteMs ?? 7 * 24 * hour,
  });
  /** Closes streams and drops caches of a lab, so that a later lab at the same path does not get them. */
  const endLab = (path: string) => {
    context.streams.endLab(path);
    context.consoles.closeLab(path);
    observations.forget(path);
    context.inspections.deleteWhere((key) => key.endsWith(` ${path}`));
  };
  const identities = new LabIdentities({
    host,
    watched: () => [...context.streams.paths, ...context.consoles.paths],
    left: (path) => {
      log("info", "a lab left its path, or another one has taken it: its streams and consoles end", { lab: path });
      endLab(path);
    },
    failed: (path, error) => log("warn", "which lab is at a path could not be read", { lab: path, error: String(error) }),
  });
  const isRecorded = (path: string) => store.labs.get(path) !== undefined;
  const observations = new Observations(clock, options.statusIntervalMs ?? 250, isRecorded, (path) => identities.notice(path));
  const work = new Work(options.work);
  const events = new Events({ host, store, sessions, observations, clock, work }, options.events);
  const context: Context = {
    host,
    store,
    clock,
    log,
    version,
    sessions,
    observations,
    events,
    hostLoads: new HostLoads(host, clock),
    work,
    jobs: new Jobs(store, clock, log, { stallMs: options.changeStallMs ?? 600_000, graceMs: options.changeGraceMs ?? 60_000 }),
    consoles: new ConsoleDesk(isRecorded, (path) => identities.look(path)),
    resumeDefault: options.resume ?? "never",
    interrupted: new Set(),
    streams: new OpenStreams(),
    identities,
    inspections: new RecentMap<InspectionData>(500),
    unrecordedPlans: new RecentMap<string>(1000),
  };
  const metrics = new Metrics(context);
  const traffic = new Traffic(context);
  const browsers = new Browsers(context, options.webUi);
  const captures = new Captures(context, browsers);
  return {
    handlers: handlersOf(context, new Tickets<ConsoleGrant>(clock), browsers, { captures, traffic, metrics }),
    requestEnded: (request) => metrics.request(request),
    authenticate: (token) => sessions.authenticate(token),
    authenticateBrowser: (cookie) => sessions.authenticateBrowser(cookie),
    recover: async () => {
      // A lab with an interrupted change is resumed after that change.
      const cutOff = new Set(store.jobs.unfinished().map(({ lab }) => lab));
      const records = store.labs.list();
      await Promise.all([
        captures.begin(records),
        recoverJobs(context),
        resumeLabs(
          context,
          records.filter(({ path }) => !cutOff.has(path)),
        ),
      ]);
      await resumeLabs(
        context,
        store.labs.list().filter(({ path }) => cutOff.has(path)),
      );
    },
    keepReady: () => work.keepReady(),
    close: async () => {
      await context.jobs.close(options.closeWaitMs ?? 10_000);
      identities.close();
      events.close();
      metrics.close();
      await context.consoles.close();
      traffic.close();
      captures.close();
      await work.close();
      await sessions.close();
      store.close();
    },
  };
}

function handlersOf(
  context: Context,
  tickets: Tickets<ConsoleGrant>,
  browsers: Browsers,
  { captures, traffic, metrics }: { readonly captures: Captures; readonly traffic: Traffic; readonly metrics: Metrics },
): Handlers {
  const { sessions, jobs, version, events } = context;

  /** A handler for callers with a session; a host session that the host has ended is forgotten, so that the next login or resume counts. */
  const known =
    <Request, Answer>(handle: (caller: Caller, request: Request, call: Call) => Promise<Answer> | Answer) =>
    async (request: Request, caller: Caller | null, call: Call): Promise<Answer> => {
      if (caller === null) throw new Failure("unauthenticated", "a valid bearer token is needed");
      try {
        return await workUser.run(caller.user, () => handle(caller, request, call));
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (error.code === "expired_host_session") sessions.forgetHostSession(caller);
        if (error.code !== "lab_not_found") throw error;
        const explained = await explainAbsence(context, caller, request, error);
        throw explained === error ? await explainMoved(context, caller, request, error) : explained;
      }
    };
  const onHost = (caller: Caller) => sessions.hostSession(caller);
  const idempotency = new Idempotency(context);
  /** Handles a change. A request that is sent twice with the same Idempotency-Key runs once. */
  const changing = <Body, Answer>(
    operation: ChangeOperationId,
    change: (context: Context, caller: Caller, body: Body, call: Call) => Promise<Answer | JobStarted>,
  ) =>
    known((caller, { body }: { readonly body: Body }, call) =>
      idempotency.once(caller, call, { operation, body }, (once) => change(context, caller, body, once)),
    );

  return {
    getHealth: async () => healthOf(version),
    login: ({ body }, _caller, call) => sessions.login(body.username, body.password, call),
    logout: known((caller) => {
      sessions.logout(caller);
      return { status: "ok" };
    }),
    createBrowserSession: async ({ body }, caller, { cookie }) => browsers.open(caller, body, cookie),
    getSession: known(({ user, role }) => ({ username: user, role })),
    getCapabilities: known(async (caller) => capabilities(context.host, await onHost(caller), browsers.served)),

    listTemplates: known(async (caller, { query }) => listTemplates(await onHost(caller), query.provisioned)),
    getTemplate: known(async (caller, { params }) => templateDetail(await onHost(caller), params.id)),
    listTemplateImages: known(async (caller, { params }) => templateImages(await onHost(caller), params.id)),
    listTemplateAttributes: known(async (caller, { params }) => templateAttributes(await onHost(caller), params.id)),
    listNetworkTypes: known(async (caller) => networkTypes(await onHost(caller))),
    getHostLoad: known(async (caller) => context.hostLoads.read(await onHost(caller))),
    listHostUsers: known(async (caller) => listHostUsers(caller, await onHost(caller))),
    listIcons: known(async (caller) => icons(await onHost(caller))),
    completeLinkInterfaces: known(async (caller, { body }) => completeLinkInterfaces(context, await onHost(caller), body)),
    previewInterfaces: known(async (caller, { body }) => previewInterfaces(context, await onHost(caller), body)),

    validateProject: known((caller, { body }, call) => validateProject(context, caller, body, call)),
    planProject: known((caller, { body }, call) => planProject(context, caller, body, call)),
    deployProject: changing("deployProject", deployProject),
    reconcileProject: changing("reconcileProject", reconcileProject),
    destroyProject: changing("destroyProject", destroyProject),
    getProjectStatus: known((caller, { body }) => projectStatus(context, caller, body)),
    inspectProject: known((caller, { body }) => inspectProject(context, caller, body)),
    openProject: known((caller, { body }) => browsers.openProject(caller, body)),
    listProjectConsoles: known((caller, { body }) => listConsoles(context, caller, body)),
    execProject: changing("execProject", execProject),
    listLabs: known((caller) => listLabs(context, caller)),
    getLabGrants: known((caller, { query }) => labGrants(context, caller, query)),
    listQuarantine: known(async (caller) => listQuarantine(caller, await onHost(caller))),
    restoreQuarantined: known(async (caller, { params }) => restoreQuarantined(context, caller, await onHost(caller), params.id)),
    deleteQuarantined: known(async (caller, { params }) => deleteQuarantined(context, caller, await onHost(caller), params.id)),
    setLabResume: known((caller, { body }) => setLabResume(context, caller, body)),
    saveConfigs: changing("saveConfigs", saveConfigs),
    testProject: changing("testProject", testProject),
    resumeLab: changing("resumeLab", resumeLab),
    renumberLab: changing("renumberLab", renumberProject),
    listSnapshots: known((caller, { body }) => listSnapshots(context, caller, body)),
    takeSnapshot: changing("takeSnapshot", takeSnapshot),
    restoreSnapshot: changing("restoreSnapshot", restoreSnapshot),
    removeSnapshot: changing("removeSnapshot", removeSnapshot),
    listPictures: known((caller, { body }) => listPictures(context, caller, body)),
    getPicture: known((caller, { params, query }) => getPicture(context, caller, query.lab, params.id)),
    getTasks: known((caller, { body }) => getTasks(context, caller, body)),
    setLabGrants: known((caller, { body }) => setLabGrants(context, caller, body)),
    setLabLock: known((caller, { body }) => setLabLock(context, caller, body)),
    listJobs: known((caller) => jobs.list(caller)),
    getJob: known((caller, { params }) => jobs.get(params.id, caller)),
    cancelJob: known((caller, { params }) => jobs.cancel(params.id, caller)),

    execConsole: known((caller, { body }, call) => execConsole(context, caller, body, call)),
    execConsoleMany: known((caller, { body }, call) => execConsoleMany(context, caller, body, call)),
    runConsole: known((caller, { body }, call) => runConsole(context, caller, body, call)),
    readConsoleLog: known((caller, { body }) => readConsoleLog(context, caller, body)),
    attachConsole: known((caller, { body }) => attachConsole(context, tickets, caller, body)),
    streamConsole: known((caller, { params }, call) => streamConsole(context, tickets, caller, params.ticket, call)),

    importProject: changing("importProject", importProject),
    applyLinkQuality: changing("applyLinkQuality", applyLinkQuality),
    setLinkSuspend: changing("setLinkSuspend", setLinkSuspend),
    startCapture: known((caller, { body }) => captures.start(caller, body)),
    listCaptures: known((caller, { query }) => captures.list(caller, query.lab)),
    getCapture: known((caller, { params }) => captures.get(caller, params.id)),
    downloadCapture: known((caller, { params }, call) => captures.download(caller, params.id, call)),
    listCapturePackets: known((caller, { params, query }) => captures.packets(caller, params.id, query)),
    getCapturePacket: known((caller, { params }) => captures.packet(caller, params.id, params.number)),
    stopCapture: known((caller, { params }) => captures.stop(caller, params.id)),
    removeCapture: known((caller, { params }) => captures.remove(caller, params.id)),
    attachCapture: known((caller, { params }) => captures.attach(caller, params.id)),
    streamCapture: known((caller, { params }, call) => captures.stream(caller, params.ticket, call)),
    attachTraffic: known((caller, { body }) => traffic.attach(caller, body)),
    streamTraffic: known((caller, { params }, call) => traffic.stream(caller, params.ticket, call)),
    getPublicProject: known((caller, { body }) => publicProject(context, caller, body)),
    editProject: known((caller, { body }, call) => editProject(context, caller, body, call)),
    adoptLab: known((caller, { body }) => adoptLab(context, caller, body)),
    listDisks: known((caller) => listDisks(context, caller)),
    removeDisks: known((caller, { params }) => removeDisks(context, caller, params.id)),
    events: known((caller, { query }, call) => events.open(caller, query, call)),
    getMetrics: known((caller) => metrics.answer(caller, () => onHost(caller))),
  };
}

function healthOf(version: string): DataOf<"getHealth"> {
  return { status: "ok", tls: true, version };
}
