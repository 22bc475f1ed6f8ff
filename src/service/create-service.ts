import type { InspectionData } from "../contract/schemas/observe.ts";
import type { Host } from "../hosts/host.ts";
import { noneKind } from "../hosts/none/none-host.ts";
import { Captures } from "./captures/captures.ts";
import { answerCount } from "./captures/count-captures.ts";
import { type Clock, systemClock } from "./common/clock.ts";
import type { FleetCalls } from "./common/fleet-calls.ts";
import type { Log } from "./common/log.ts";
import { RecentMap } from "./common/recent-map.ts";
import type { UrlImports } from "./common/url-imports.ts";
import { ReadyConditions } from "./conditions/ready-conditions.ts";
import type { ConsoleGrant } from "./consoles/consoles.ts";
import type { Context } from "./context/context.ts";
import { Events, type EventsLimits } from "./events/events.ts";
import { watchedStore } from "./events/watched-store.ts";
import { Failover } from "./failover/failover.ts";
import { answerMachine } from "./fleet/answer-machine.ts";
import { imagePeers } from "./fleet/image-peers.ts";
import { handlersOf } from "./handlers.ts";
import { Jobs } from "./jobs/jobs.ts";
import { Moving } from "./jobs/moving.ts";
import { Browsers, type WebUi } from "./labs/browsers.ts";
import { LeaseEnds } from "./lease-ends/lease-ends.ts";
import { LabUses } from "./leases/lab-uses.ts";
import { Metrics } from "./metrics/metrics.ts";
import { answerMove } from "./moves/answer-move.ts";
import { Drains } from "./moves/drains.ts";
import { HostLoads } from "./observe/host-load.ts";
import { Observations } from "./observe/observations.ts";
import { Placements } from "./placement/placements.ts";
import { resumeLabs } from "./power/resume-labs.ts";
import { recoverJobs } from "./recover.ts";
import type { Service } from "./service.ts";
import { ExternalSignIns } from "./sessions/external-sign-ins.ts";
import { Sessions } from "./sessions/sessions.ts";
import { Tickets } from "./sessions/tickets.ts";
import { labsHere, type ResumePolicy, type Store } from "./store/store.ts";
import { ConsoleDesk } from "./streams/console-desk.ts";
import { LabIdentities } from "./streams/lab-identities.ts";
import { OpenStreams } from "./streams/open-streams.ts";
import { Traffic } from "./traffic/traffic.ts";
import type { PoolOptions } from "./work/pool.ts";
import { Work } from "./work/work.ts";

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
  /** Absent: imports by URL are not allowed. */
  readonly urlImports?: UrlImports;
  /** The provider at which users may sign in, as people call it. Absent: none. */
  readonly oidc?: { readonly name: string };
  /** The other machines of the fleet. Absent: this service is not part of one. */
  readonly fleet?: FleetCalls;
  /** Memory of this machine, MiB, for reservations without a fleet. Absent: it is not known, and only quotas limit them. */
  readonly machineMemory?: number;
  /** Folder of more tables of node types for imports, read at each of them. It need not exist. */
  readonly mappingFolder?: string;
}

const hour = 3_600_000;

/** All use cases over one host and one store. */
export function createService(options: ServiceOptions): Service {
  const { host, log, version, clock = systemClock } = options;
  const store = watchedStore(options.store, {
    record: (change, record) => {
      // Ends all streams of a lab that has got another owner or was deleted.
      if (change !== "updated") endLab(record.path);
      if (change === "deleted") context.uses.forget(record.path);
      events.record(change, record);
    },
    job: (news) => {
      events.job(news);
      metrics.job(news);
    },
    jobElsewhere: (news) => events.job(news),
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
  const work = new Work(options.work, options.mappingFolder);
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
    conditions: new ReadyConditions(clock),
    consoles: new ConsoleDesk(isRecorded, (path) => identities.look(path)),
    resumeDefault: options.resume ?? "never",
    urlImports: options.urlImports,
    placements: new Placements(async (machine) => options.fleet?.problem(machine)),
    machineMemory: options.machineMemory,
    fleet: options.fleet,
    moving: new Moving(),
    interrupted: new Set(),
    uses: new LabUses(clock.now),
    streams: new OpenStreams(),
    identities,
    inspections: new RecentMap<InspectionData>(500),
    unrecordedPlans: new RecentMap<string>(1000),
  };
  store.shared?.onDoubtful(() => context.jobs.suspend());
  store.shared?.onRenewed(() => void continueChanges(context));
  const metrics = new Metrics(context);
  const traffic = new Traffic(context);
  const browsers = new Browsers(context, options.webUi);
  const captures = new Captures(context, browsers);
  const signIns = new ExternalSignIns(context);
  const leases = new LeaseEnds(context);
  const drains = new Drains(context);
  const failover = new Failover(context, () => drains.settle());
  shareImages(context);
  return {
    handlers: handlersOf({
      context,
      tickets: new Tickets<ConsoleGrant>(context),
      browsers,
      captures,
      traffic,
      metrics,
      signIns,
      drains,
      oidc: options.oidc,
    }),
    signInBrowser: async (identity) => {
      const signedIn = await signIns.session(identity);
      return { user: signedIn.user, fragment: browsers.fragmentFor(signedIn) };
    },
    signInProgram: (identity, challenge) => signIns.code(identity, challenge),
    storeSilentMs: () => store.shared?.silentMs(),
    answerMachine: async (from, call, signal) =>
      (await answerMove(context, from, call, signal)) ?? (await answerCount(context, call)) ?? answerMachine(context, call),
    requestEnded: (request) => metrics.request(request),
    authenticate: (token, address) => sessions.authenticate(token, address),
    passedOn: (caller) => sessions.passedOn(caller),
    authenticateBrowser: (cookie) => sessions.authenticateBrowser(cookie),
    recover: (begun) => {
      // Labs of a machine that was removed wait for machines that can run them.
      if (host.kind === noneKind) {
        begun?.();
        return Promise.resolve();
      }
      leases.begin();
      failover.begin();
      drains.begin();
      return recoverAll(context, captures, drains, begun);
    },
    lookAtLeases: async () => {
      await leases.look();
      await leases.settled();
    },
    lookAtMachines: () => failover.look(),
    keepReady: () => work.keepReady(),
    close: async () => {
      await context.jobs.close(options.closeWaitMs ?? 10_000);
      await leases.close();
      await drains.close();
      await failover.close();
      identities.close();
      events.close();
      metrics.close();
      await context.consoles.close();
      traffic.close();
      captures.close();
      await work.close();
      await sessions.close();
      await store.close();
    },
  };
}

/** Images that are missing here come from the other machines of the fleet, and theirs from here. */
function shareImages({ host: { images }, store, fleet }: Context): void {
  const machines = store.shared?.machines;
  if (images === undefined || fleet === undefined || machines?.own === undefined) return;
  images.usePeers(imagePeers(machines, fleet));
  fleet.reportImages(() => images.shared());
}

/** Continues the changes that were interrupted because the database did not answer. */
async function continueChanges(context: Context): Promise<void> {
  try {
    await context.jobs.suspensionEnded();
    const unfinished = await context.store.jobs.unfinished();
    await recoverJobs(
      context,
      unfinished.filter(({ lab }) => context.jobs.running(lab) === undefined),
    );
  } catch (error) {
    context.log("error", "changes that the database interrupted could not be continued", { error: String(error) });
  }
}

/** Finishes interrupted changes, and restores labs that ended with the host. */
async function recoverAll(context: Context, captures: Captures, drains: Drains, begun: () => void = () => {}): Promise<void> {
  const { store } = context;
  // Labs whose move here was cut off are labs of this machine before anything else looks for them.
  await drains.settle().catch((error: unknown) => context.log("error", "moves of labs could not be finished", { error: String(error) }));
  // A lab with an interrupted change is resumed after that change.
  const unfinished = await store.jobs.unfinished();
  const cutOff = new Set(unfinished.map(({ lab }) => lab));
  const records = labsHere(store);
  const recovering = [
    captures.begin(records),
    recoverJobs(context, unfinished),
    resumeLabs(
      context,
      records.filter(({ path }) => !cutOff.has(path)),
    ),
  ];
  begun();
  await Promise.all(recovering);
  await resumeLabs(
    context,
    store.labs.list().filter(({ path }) => cutOff.has(path)),
  );
}
