import { Failure } from "../contract/errors.ts";
import type { ChangeOperationId, DataOf } from "../contract/operations.ts";
import type { JobStarted } from "../contract/schemas/jobs.ts";
import { isNoLabs, noneKind } from "../hosts/none/none-host.ts";
import type { Captures } from "./captures/captures.ts";
import { Idempotency } from "./changes/idempotency.ts";
import { completeLinkInterfaces, previewInterfaces } from "./checks/authoring.ts";
import { validateProject } from "./checks/validate.ts";
import type { Call, Caller } from "./common/call.ts";
import { capabilities } from "./common/capabilities.ts";
import { currentCall } from "./common/current-call.ts";
import { Elsewhere } from "./common/elsewhere.ts";
import { attachProcess, type ProcessGrant, streamProcess } from "./consoles/attach-process.ts";
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
import { copyFiles } from "./consoles/copy-files.ts";
import { execNodes } from "./consoles/exec-nodes.ts";
import { ExecPlaces } from "./consoles/exec-places.ts";
import { OutputTurns } from "./consoles/output-turns.ts";
import type { Context } from "./context/context.ts";
import { explainMoved } from "./context/moved.ts";
import { deleteQuarantined, explainAbsence, listQuarantine, restoreQuarantined } from "./context/quarantine.ts";
import { downloadDisk, exportDisks, finishDiskImport, importDisks, removeDiskTransfer, uploadDiskPart } from "./disks/disk-transfers.ts";
import { listDisks, removeDisks } from "./disks/disks.ts";
import { createJoinToken, listMachines, removeMachine, setMachine } from "./fleet/machines.ts";
import { ofOtherMachines } from "./fleet/of-all-machines.ts";
import { importFile } from "./imports/import-file.ts";
import { testProject } from "./lab-tests/test-project.ts";
import type { Browsers } from "./labs/browsers.ts";
import { icons, listTemplates, networkTypes, templateAttributes, templateDetail, templateImages } from "./labs/catalogue.ts";
import { labGrants, setLabGrants } from "./labs/grants.ts";
import { historyText, listHistory } from "./labs/history.ts";
import { inspectProject } from "./labs/inspect.ts";
import { setLabLock } from "./labs/lab-lock.ts";
import { listLabs } from "./labs/list-labs.ts";
import { getPicture, getTasks, listPictures } from "./labs/pictures.ts";
import { renumberProject } from "./labs/renumber.ts";
import { listSnapshots, removeSnapshot, restoreSnapshot, takeSnapshot } from "./labs/snapshots.ts";
import { projectStatus } from "./labs/status.ts";
import { listSwitches } from "./labs/switches.ts";
import { extendLease } from "./lease-ends/extend-lease.ts";
import { withUses } from "./leases/with-uses.ts";
import { applyLinkQuality, setLinkSuspend } from "./links/links.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { Drains } from "./moves/drains.ts";
import { ownMachine } from "./placement/own-machine.ts";
import { anyWithLabs, elsewhereForLabs, withNextStep } from "./placement/pass-on.ts";
import { execProject } from "./power/power.ts";
import { resumeLab, setLabResume } from "./power/resume.ts";
import { saveConfigs } from "./power/save-configs.ts";
import { adoptLab } from "./projects/adopt.ts";
import { deployProject } from "./projects/deploy.ts";
import { destroyProject } from "./projects/destroy.ts";
import { editProject, publicProject } from "./projects/edit-project.ts";
import { importProject } from "./projects/import-project.ts";
import { planProject } from "./projects/plan-project.ts";
import { reconcileProject } from "./projects/reconcile.ts";
import { listQuotas, setQuota } from "./quotas/quotas.ts";
import { createReservation, listReservations, removeReservation } from "./reservations/reservations.ts";
import type { Handlers } from "./service.ts";
import type { ExternalSignIns } from "./sessions/external-sign-ins.ts";
import { listHostUsers, removeHostUser, setHostUser } from "./sessions/host-users.ts";
import { Tickets } from "./sessions/tickets.ts";
import type { Store } from "./store/store.ts";
import { createToken, listTokens, revokeToken } from "./tokens/api-tokens.ts";
import { withinScopes } from "./tokens/token-scopes.ts";
import type { Traffic } from "./traffic/traffic.ts";

export interface HandlerParts {
  readonly signIns: ExternalSignIns;
  readonly drains: Drains;
  /** The provider at which users may sign in, as people call it. */
  readonly oidc?: { readonly name: string } | undefined;
  readonly context: Context;
  readonly tickets: Tickets<ConsoleGrant>;
  readonly browsers: Browsers;
  readonly captures: Captures;
  readonly traffic: Traffic;
  readonly metrics: Metrics;
}

/** Returns the handler of each operation. */
export function handlersOf(parts: HandlerParts): Handlers {
  const wrap = wrappers(parts.context);
  const handlers = {
    ...sessionHandlers(parts, wrap),
    ...hostHandlers(parts, wrap),
    ...projectHandlers(parts, wrap),
    ...labHandlers(parts, wrap),
    ...consoleHandlers(parts, wrap),
    ...packetHandlers(parts, wrap),
  };
  return withinScopes(withUses(handlers, parts.context.uses));
}

/** Makes handlers of use cases. */
function wrappers(context: Context) {
  const { sessions } = context;

  /** A handler for callers with a session; a host session that the host has ended is forgotten, so that the next login or resume counts. */
  const known =
    <Request, Answer>(handle: (caller: Caller, request: Request, call: Call) => Promise<Answer> | Answer) =>
    async (request: Request, caller: Caller | null, call: Call): Promise<Answer> => {
      if (caller === null) throw new Failure("unauthenticated", "a valid bearer token is needed");
      try {
        const outer = currentCall.getStore()?.onLab;
        const onLab = (path: string) => {
          call.onLab?.(path);
          outer?.(path);
        };
        const { isForwarded = false, placement } = call;
        return await currentCall.run({ user: caller.user, onLab, isForwarded, placement }, () => handle(caller, request, call));
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (isNoLabs(error) && call.isForwarded !== true) throw elsewhereForLabs(context.store.shared?.machines);
        if (error.code === "unsupported" && context.host.kind === noneKind) throw withNextStep(error, context.store.shared?.machines);
        if (error.code === "expired_host_session") sessions.forgetHostSession(caller);
        if (error.code !== "lab_not_found") throw error;
        const explained = await explainAbsence(context, caller, request, error);
        throw explained === error ? await explainMoved(context, caller, request, error) : explained;
      }
    };
  /** Returns the session of the caller with the host. */
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

  return { known, changing, onHost };
}

type Wrappers = ReturnType<typeof wrappers>;

/** Handlers of sessions, and of the service itself. */
function sessionHandlers({ context, browsers, metrics, signIns, oidc }: HandlerParts, { known, onHost }: Wrappers) {
  const { sessions, version, events } = context;
  return {
    getHealth: async () => healthOf(version, context.store, oidc),
    login: ({ body }, _caller, call) => sessions.login(body.username, body.password, call),
    finishLogin: ({ body }) => signIns.finish(body),
    logout: known(async (caller) => {
      await sessions.logout(caller);
      return { status: "ok" };
    }),
    createBrowserSession: async ({ body }, caller, { cookie }) => browsers.open(caller, body, cookie),
    createToken: known((caller, { body }) => createToken(context, caller, body)),
    listTokens: known((caller) => listTokens(context, caller)),
    revokeToken: known((caller, { body }) => revokeToken(context, caller, body)),
    getSession: known(({ user, role }) => ({ username: user, role, ...ownMachine(context.store) })),
    getCapabilities: known(async (caller, _request, { isForwarded = false }) => {
      // Clients want to know what labs can do.
      const other = context.host.kind === noneKind && !isForwarded ? anyWithLabs(context.store.shared?.machines) : undefined;
      if (other !== undefined) throw new Elsewhere(other);
      return capabilities(context.host, await onHost(caller), { webUi: browsers.served, urlHosts: context.urlImports?.hosts });
    }),
    events: known((caller, { query }, call) => events.open(caller, query, call)),
    getMetrics: known((caller) => metrics.answer(caller, () => onHost(caller))),
  } satisfies Partial<Handlers>;
}

/** Handlers that need no lab. */
function hostHandlers({ context }: HandlerParts, { known, onHost }: Wrappers) {
  const { jobs } = context;
  return {
    listTemplates: known(async (caller, { query }) => listTemplates(await onHost(caller), query.provisioned)),
    getTemplate: known(async (caller, { params }) => templateDetail(await onHost(caller), params.id)),
    listTemplateImages: known(async (caller, { params }) => templateImages(await onHost(caller), params.id)),
    listTemplateAttributes: known(async (caller, { params }) => templateAttributes(await onHost(caller), params.id)),
    listNetworkTypes: known(async (caller) => networkTypes(await onHost(caller))),
    getHostLoad: known(async (caller) => context.hostLoads.read(await onHost(caller))),
    listHostUsers: known(async (caller) => listHostUsers(caller, await onHost(caller))),
    setHostUser: known((caller, { body }) => setHostUser({ ...context, session: onHost }, caller, body)),
    removeHostUser: known((caller, { body }) => removeHostUser({ ...context, session: onHost }, caller, body)),
    listIcons: known(async (caller) => icons(await onHost(caller))),
    completeLinkInterfaces: known(async (caller, { body }) => completeLinkInterfaces(context, await onHost(caller), body)),
    previewInterfaces: known(async (caller, { body }) => previewInterfaces(context, await onHost(caller), body)),
    listQuarantine: known(async (caller) => listQuarantine(caller, await onHost(caller))),
    restoreQuarantined: known(async (caller, { params }) => restoreQuarantined(context, caller, await onHost(caller), params.id)),
    deleteQuarantined: known(async (caller, { params }) => deleteQuarantined(context, caller, await onHost(caller), params.id)),
    listDisks: known((caller) => listDisks(context, caller)),
    removeDisks: known((caller, { params }) => removeDisks(context, caller, params.id)),
    exportDisks: known((caller, { body }) => exportDisks(context, caller, body)),
    downloadDisk: known((caller, { params, query }, call) => downloadDisk(context, caller, { id: params.id, ...query }, call)),
    importDisks: known((caller, { body }) => importDisks(context, caller, body)),
    uploadDiskPart: known((caller, { params, body }) => uploadDiskPart(context, caller, params.id, body)),
    finishDiskImport: known((caller, { params }) => finishDiskImport(context, caller, params.id)),
    removeDiskTransfer: known((caller, { params }) => removeDiskTransfer(context, caller, params.id)),
    listJobs: known((caller) => jobs.list(caller)),
    getJob: known((caller, { params }) => jobs.get(params.id, caller)),
    cancelJob: known((caller, { params }) => jobs.cancel(params.id, caller)),
  } satisfies Partial<Handlers>;
}

/** Handlers of intents, and of changes that run as jobs. */
function projectHandlers({ context }: HandlerParts, { known, changing }: Wrappers) {
  return {
    validateProject: known((caller, { body }, call) => validateProject(context, caller, body, call)),
    planProject: known((caller, { body }, call) => planProject(context, caller, body, call)),
    getPublicProject: known((caller, { body }) => publicProject(context, caller, body)),
    importFile: known((caller, { body }) => importFile(context, caller, body)),
    editProject: known((caller, { body }, call) => editProject(context, caller, body, call)),
    listHistory: known((caller, { body }) => listHistory(context, caller, body)),
    getHistoryText: known((caller, { body }) => historyText(context, caller, body)),
    adoptLab: known((caller, { body }) => adoptLab(context, caller, body)),
    deployProject: changing("deployProject", deployProject),
    reconcileProject: changing("reconcileProject", reconcileProject),
    destroyProject: changing("destroyProject", destroyProject),
    importProject: changing("importProject", importProject),
    execProject: changing("execProject", execProject),
    saveConfigs: changing("saveConfigs", saveConfigs),
    testProject: changing("testProject", testProject),
    resumeLab: changing("resumeLab", resumeLab),
    renumberLab: changing("renumberLab", renumberProject),
    takeSnapshot: changing("takeSnapshot", takeSnapshot),
    restoreSnapshot: changing("restoreSnapshot", restoreSnapshot),
    removeSnapshot: changing("removeSnapshot", removeSnapshot),
    applyLinkQuality: changing("applyLinkQuality", applyLinkQuality),
    setLinkSuspend: changing("setLinkSuspend", setLinkSuspend),
  } satisfies Partial<Handlers>;
}

/** Handlers that read a lab, or change what the service stores of it. */
function labHandlers({ context, browsers, drains }: HandlerParts, { known }: Wrappers) {
  return {
    getProjectStatus: known((caller, { body }) => projectStatus(context, caller, body)),
    inspectProject: known((caller, { body }) => inspectProject(context, caller, body)),
    openProject: known((caller, { body }) => browsers.openProject(caller, body)),
    listLabs: known((caller, _request, call) => listLabs(context, caller, call)),
    getLabGrants: known((caller, { query }) => labGrants(context, caller, query)),
    setLabGrants: known((caller, { body }) => setLabGrants(context, caller, body)),
    setLabLock: known((caller, { body }) => setLabLock(context, caller, body)),
    extendLease: known((caller, { body }) => extendLease(context, caller, body)),
    listQuotas: known((caller) => listQuotas(context, caller)),
    setQuota: known((caller, { body }) => setQuota(context, caller, body)),
    listReservations: known((caller) => listReservations(context, caller)),
    createReservation: known((caller, { body }) => createReservation(context, caller, body)),
    removeReservation: known((caller, { body }) => removeReservation(context, caller, body)),
    listMachines: known((caller) => listMachines(context, caller)),
    setMachine: known((caller, { body }) => setMachine(context, caller, body)),
    drainMachine: known((caller, { body }) => drains.drain(caller, body)),
    removeMachine: known((caller, { body }) => removeMachine(context, caller, body)),
    createJoinToken: known((caller, { body }) => createJoinToken(context, caller, body)),
    setLabResume: known((caller, { body }) => setLabResume(context, caller, body)),
    listSnapshots: known((caller, { body }) => listSnapshots(context, caller, body)),
    listPictures: known((caller, { body }) => listPictures(context, caller, body)),
    getPicture: known((caller, { params, query }) => getPicture(context, caller, query.lab, params.id)),
    getTasks: known((caller, { body }) => getTasks(context, caller, body)),
    listSwitches: known((caller, { body }) => listSwitches(context, caller, body)),
  } satisfies Partial<Handlers>;
}

/** Maximum number of interactive programs that one session starts in a minute. Scripts start many short ones; ExecPlaces limits those that run at once. */
const maxProgramsPerMinute = 1_200;

function consoleHandlers({ context, tickets }: HandlerParts, { known }: Wrappers) {
  const limits = { places: new ExecPlaces(), turns: new OutputTurns() };
  const processTickets = new Tickets<ProcessGrant>(context, { maxPerMinute: maxProgramsPerMinute });
  return {
    listProjectConsoles: known((caller, { body }) => listConsoles(context, caller, body)),
    execConsole: known((caller, { body }, call) => execConsole(context, caller, body, call)),
    execConsoleMany: known((caller, { body }, call) => execConsoleMany(context, caller, body, call)),
    runConsole: known((caller, { body }, call) => runConsole(context, caller, body, call)),
    readConsoleLog: known((caller, { body }) => readConsoleLog(context, caller, body)),
    execNodes: known((caller, { body }, call) => execNodes(context, limits, caller, body, call)),
    attachConsole: known((caller, { body }) => attachConsole(context, tickets, caller, body)),
    attachProcess: known((caller, { body }) => attachProcess(context, processTickets, caller, body)),
    copyFiles: known((caller, { body }) => copyFiles(context, processTickets, caller, body)),
    streamProcess: known((caller, { params }, call) =>
      streamProcess(context, { tickets: processTickets, ...limits }, caller, params.ticket, call),
    ),
    streamConsole: known((caller, { params }, call) => streamConsole(context, tickets, caller, params.ticket, call)),
  } satisfies Partial<Handlers>;
}

/** Handlers of packet captures and live traffic. */
function packetHandlers({ context, captures, traffic }: HandlerParts, { known }: Wrappers) {
  return {
    startCapture: known((caller, { body }) => captures.start(caller, body)),
    listCaptures: known(async (caller, { query }, call) => {
      const own = await captures.list(caller, query.lab);
      if (query.lab !== undefined) return own;
      const { lists, ...rest } = await ofOtherMachines(context, "listCaptures", caller, call);
      return { captures: [own, ...lists].flatMap((list) => list.captures), ...rest };
    }),
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
  } satisfies Partial<Handlers>;
}

function healthOf(version: string, { shared }: Store, oidc: HandlerParts["oidc"]): DataOf<"getHealth"> {
  const silentMs = shared?.silentMs();
  const age = silentMs === undefined ? {} : { age: Math.ceil(silentMs / 1_000) };
  return {
    status: "ok",
    tls: true,
    version,
    ...(oidc !== undefined && { oidc }),
    ...(shared !== undefined && { store: { reachable: silentMs === undefined, ...age } }),
  };
}
