import { existsSync, readdirSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { KeyedQueue } from "../../base/keyed-queue.ts";
import { programPath } from "../../files/program-path.ts";
import { openSpareFiles } from "../../files/spare-files.ts";
import { vxlanPort } from "../../intent/lab/lab.ts";
import type { AccountStore } from "../host-accounts.ts";
import { bindPolicy } from "./binds/bind-policy.ts";
import { type CaptureLimits, captureLimits } from "./capture/capture-limits.ts";
import { captureWorks } from "./capture/capture-works.ts";
import { Captures } from "./capture/captures.ts";
import { CaptureViews } from "./decoder/capture-views.ts";
import { Decoders } from "./decoder/decoders.ts";
import { type Definitions, openDefinitions } from "./definitions/definitions.ts";
import type { RecordedLab } from "./definitions/path-claims.ts";
import { openTrash } from "./files/trash.ts";
import { makeTraversableDirectory } from "./files/traversable-directory.ts";
import { preflight } from "./images/preflight.ts";
import { LocalLab } from "./lab/local-lab.ts";
import { type StopGrace, stopGrace } from "./lab/stop-grace.ts";
import { bootEpoch } from "./machine/boot-epoch.ts";
import { tellingTrouble } from "./machine/machine-trouble.ts";
import type { LocalPaths } from "./machine/paths.ts";
import { type Step, slowSteps } from "./machine/slow-steps.ts";
import { isUuid } from "./machine/uuid.ts";
import { HostsFile } from "./management/hosts-file.ts";
import { labNames } from "./management/lab-names.ts";
import type { NatPolicy } from "./nat/nat-rules.ts";
import { openCatalogue } from "./open-catalogue.ts";
import { KernelSnapshots } from "./own-kernel/kernel-snapshots.ts";
import { endAbandonedSnapshots, snapshotSettings } from "./own-kernel/make-snapshot.ts";
import { shapingMeans } from "./quality/quality-means.ts";
import { PublishedPorts } from "./reach/published-ports.ts";
import { Readiness } from "./readiness/readiness.ts";
import { Pulls } from "./registries/pulls.ts";
import { Admission } from "./resources/admission.ts";
import { raiseKernelTables } from "./resources/kernel-tables.ts";
import { sweepLabGroups } from "./resources/lab-groups.ts";
import { freeMemory, machineMemory } from "./resources/machine-capacity.ts";
import { limitProblems, probeMachine } from "./resources/probe-machine.ts";
import { endStrays } from "./sandbox/end-strays.ts";
import type { LocalState } from "./session/local-state.ts";
import { localQuarantine } from "./session/quarantine.ts";
import { TransferStore } from "./transfers/transfer-store.ts";
import type { TunnelPolicy, TunnelUnderlay } from "./tunnels/tunnel-policy.ts";
import { type DiskPace, DiskWatch, diskPace } from "./watches/disk-watch.ts";
import { NeighbourWatch } from "./watches/neighbour-watch.ts";

export interface LocalHostOptions {
  readonly paths: LocalPaths;
  /** Called with warnings for the administrator: an unreadable template or lab.json, a lab that cannot be adopted. Default: process.emitWarning. */
  readonly warn?: (text: string) => void;
  /** Path → the lab that the service has a record of. The record decides which lab a disputed path belongs to. */
  readonly recorded?: ReadonlyMap<string, RecordedLab>;
  /** Destinations that labs may reach through nat networks, besides the rules that every machine has. */
  readonly nat?: NatPolicy;
  /** Directories of the machine of which nodes of admins' labs may see files. Default: none. */
  readonly bindAllow?: readonly string[];
  /** The accounts of its users. Absent: users.json in the state directory. */
  readonly accounts?: AccountStore | undefined;
  /** The tunnels to other machines that labs may have. Default: none. */
  readonly tunnels?: TunnelPolicy | undefined;
  /** In a fleet: the network to the other machines, for the links of labs that are spread over them. */
  readonly underlay?: TunnelUnderlay | undefined;
  /** The file in which nodes with a management address get names. Absent: none. Only root has management networks. */
  readonly hostsFile?: string | undefined;
  /** In a fleet: the mark of this machine, with which the ids of its captures begin. */
  readonly idMark?: string | undefined;
  /** Replace the defaults. */
  readonly captureLimits?: Partial<CaptureLimits>;
  /** Replaces the defaults. */
  readonly stopGrace?: Partial<StopGrace>;
  /** Returns the MiB that may still be promised to nodes, from the MiB that are promised. Default: from the machine's memory. */
  readonly freeMemory?: (promised: number) => number;
  /** Replaces the default. */
  readonly diskPace?: DiskPace;
  /** Replaces the size of the kernel's neighbour tables. */
  readonly maxNeighbours?: number;
}

/**
 * Opens the embedded host's directories, and adopts the labs that run. `labs`: receives the labs, even if a later step fails.
 */
export async function openState(
  options: LocalHostOptions,
  labs: Map<string, LocalLab>,
  { warn, isAdmin }: { readonly warn: (text: string) => void; readonly isAdmin: (user: string) => Promise<boolean> },
): Promise<LocalState> {
  const { paths } = options;
  const step = slowSteps("the start of the embedded host", warn);
  const { bootId, means } = await step("a look at the machine", () => prepareMachine(paths, warn));
  const trash = await openTrash(join(paths.state, "trash"), warn);
  const spares = await openSpareFiles(paths.state, warn);
  const recorded = options.recorded ?? new Map();
  const definitions = await step("reading the labs", () => openDefinitions(paths.state, trash, warn, { spares, recorded }));
  const decoders = await Decoders.open({ program: paths.decoder, state: paths.state, trash, most: 4, warn });
  const shaping = shapingMeans(paths.shaper);
  const { state, images, vmImages } = paths;
  const hasBinds = (options.bindAllow ?? []).length > 0 && process.getuid?.() === 0;
  const catalogue = openCatalogue({
    state,
    images,
    vmImages,
    hasBinds,
    shaping,
    capture: captureWorks(paths.tap),
    tunnels: options.tunnels,
    means,
    warn,
  });
  const changes = new KeyedQueue();
  const exclusive = <T>(path: string, work: () => Promise<T>): Promise<T> => changes.run(path, () => tellingTrouble(work));
  const onSwitchesLost = (id: string) => void repairSwitches(parts, exclusive, id);
  const hosts = options.hostsFile === undefined ? undefined : new HostsFile(options.hostsFile, paths.state, warn);
  await hosts?.keep(definitions.ids());
  const names = hosts && labNames(hosts, isAdmin);
  const binds = bindPolicy(options.bindAllow ?? [], paths, isAdmin);
  const fixed = { ...labOptions(options, warn), binds, names, onSwitchesLost, trash, bootId, shaping, means };
  const lab = labsOf(labs, (id) => new LocalLab(id, definitions.directory(id), fixed));
  const parts = { paths, definitions, lab, catalogue, warn };

  await step("ending abandoned kernel snapshots", () => endAbandonedSnapshots(paths));
  await adoptLabs(parts, labs, means, step);
  const directories = () => definitions.ids().map((id) => definitions.directory(id));
  const captures = new Captures(paths.tap, { ...captureLimits, ...options.captureLimits }, trash, directories, options.idMark);
  await step("a look at the captures", () => captures.sweep());
  await step("the repair of links", () => repairLinks(parts, exclusive));

  const readiness = new Map<string, Readiness>();
  const shared: Omit<LocalState, "quarantine"> = {
    definitions,
    trash,
    spares,
    directory: paths.state,
    images,
    transfers: await TransferStore.open(join(paths.state, "transfers"), trash),
    peers: {},
    pulls: new Pulls(paths, programPath("hosts/local/containers/main")),
    bootId,
    lab,
    catalogue,
    binds,
    admission: new Admission(definitions, async (promised) => {
      if (options.freeMemory !== undefined) return options.freeMemory(promised);
      const { groups, rules } = await means;
      return freeMemory(machineMemory(groups), rules, promised);
    }),
    readiness: (id) => {
      const one = readiness.get(id) ?? new Readiness();
      readiness.set(id, one);
      return one;
    },
    forget: (id) => {
      labs.delete(id);
      readiness.delete(id);
    },
    exclusive,
    decoders,
    views: new CaptureViews(decoders),
    captures,
    ports: fixed.ports,
    ...openWatches(parts, options),
  };
  return { ...shared, quarantine: localQuarantine(shared, paths.run) };
}

/** Makes the directories, and warns of parts of the machine that are missing. */
async function prepareMachine(
  paths: LocalPaths,
  warn: (text: string) => void,
): Promise<{ readonly bootId: string; readonly means: ReturnType<typeof probeMachine> }> {
  removeDrafts(paths.state);
  await makeTraversableDirectory(paths.state);
  await makeTraversableDirectory(paths.vmImages);
  const bootId = await bootEpoch(paths.run);
  const means = probeMachine();
  for (const problem of [...(await preflight(paths)), ...limitProblems(await means)]) warn(problem);
  if (process.getuid?.() === 0) for (const line of raiseKernelTables()) warn(line);
  return { bootId, means };
}

/**
 * Removes drafts of files whose writing a crash interrupted. Synchronous, so that it is done when localHost() returns: after that the service writes here.
 */
function removeDrafts(state: string): void {
  if (!existsSync(state)) return;
  for (const name of readdirSync(state)) if (/^(users|service)\.json\.[0-9a-f]{12}\.tmp$/.test(name)) rmSync(join(state, name));
}

/** Returns a function that returns a lab by its id: always the same object for one id. */
function labsOf(labs: Map<string, LocalLab>, make: (id: string) => LocalLab): (id: string) => LocalLab {
  return (id) => {
    const known = labs.get(id);
    if (known !== undefined) return known;
    const made = make(id);
    labs.set(id, made);
    return made;
  };
}

/** Returns the options of labs that are the same for all of them. */
function labOptions({ paths, nat, tunnels, underlay, stopGrace: grace }: LocalHostOptions, warn: (text: string) => void) {
  const allTunnels = [
    ...(tunnels === undefined ? [] : [{ remotes: tunnels.remotes, port: tunnels.port ?? vxlanPort }]),
    // Any machine may join the fleet.
    ...(underlay === undefined ? [] : [{ remotes: ["0.0.0.0/0"], port: vxlanPort }]),
  ];
  return {
    paths,
    natPolicy: { ...(nat ?? { allow: [], deny: [] }), tunnels: allTunnels },
    tunnelPolicy: tunnels,
    underlay,
    ports: new PublishedPorts(allTunnels.map(({ port }) => port)),
    snapshots: new KernelSnapshots(snapshotSettings(paths, warn)),
    stopGrace: { ...stopGrace, ...grace },
    onSharedRange: sharedRangeWarning(warn),
    warn,
  };
}

/** Returns a function that warns once per reason why labs share one range of user ids. */
function sharedRangeWarning(warn: (text: string) => void): (why: string) => void {
  let last = "";
  return (why) => {
    if (why !== last) warn(`labs have no user ids of their own: ${why}; all labs of this service share one range (docs/isolation.md)`);
    last = why;
  };
}

interface OpenedParts {
  readonly paths: LocalPaths;
  readonly definitions: Definitions;
  readonly lab: LocalState["lab"];
  readonly catalogue: LocalState["catalogue"];
  readonly warn: (text: string) => void;
}

/** Connects to the holders of running labs. Ends holders that cannot be reached, and warns of labs that run without a definition. */
async function adoptLabs(
  { paths, definitions, lab, warn }: OpenedParts,
  labs: Map<string, LocalLab>,
  means: ReturnType<typeof probeMachine>,
  step: Step,
): Promise<void> {
  const adopt = (id: string) =>
    lab(id)
      .adopt()
      // The next use of the lab tries again and reports a failure.
      .catch((error: Error) => warn(`lab ${id}: ${error.message}`));

  for (const { lab: id, pid } of await step("the search for holders", () => endStrays(paths.run, definitions.ids()))) {
    warn(`lab ${id}: its holder, process ${pid}, is missing from ${paths.run} and could not be reached: it was ended`);
  }
  await step("connecting to the labs", () => Promise.all(definitions.ids().map(adopt)));
  await step("removing left control groups", async () => sweepLabGroups((await means).groups, undefined, warn));
  const known = new Set(definitions.ids());
  for (const id of (await readdir(paths.run)).sort()) {
    if (known.has(id) || !isUuid(id)) continue;
    await adopt(id);
    if (lab(id).isAlive) warn(`lab ${id} runs, but ${paths.state} has no definition of it: labwright quarantine lists it, and can end it`);
    lab(id).release();
    labs.delete(id);
  }
}

/** Repairs links of a shaper that died while no service ran: they pass no frames. Opens the published ports of running nodes, and writes their names, again. */
async function repairLinks({ definitions, lab, catalogue, warn }: OpenedParts, exclusive: LocalState["exclusive"]): Promise<void> {
  const repair = async (path: string) => {
    const definition = await definitions.get(path);
    if (definition === undefined || lab(definition.id).sandbox === null) return;
    await lab(definition.id).renewNames(definition);
    const publishes = definition.nodes.some(({ ports = [] }) => ports.length > 0);
    const leadsOut = definition.networks.some(({ vxlan }) => vxlan !== undefined);
    if (publishes || leadsOut || definition.links.some(({ quality }) => quality !== undefined))
      await lab(definition.id).reconcileFabric(definition, await catalogue());
  };
  const warnOf = (path: string) => (error: Error) => warn(`lab ${path}: ${error.message}`);
  await Promise.all(definitions.paths().map((path) => exclusive(path, () => repair(path)).catch(warnOf(path))));
}

/** Time in which the switches of a lab are repaired only once, ms, so that a failure that returns does not keep the machine busy. */
const repairPauseMs = 10_000;

/** Lab → the time of its last repair, by performance.now(). */
const repairs = new Map<string, number>();

/** Starts Open vSwitch of a lab again, after it ended with its whole place. Its daemons alone are started again there. */
async function repairSwitches(
  { definitions, lab, catalogue, warn }: OpenedParts,
  exclusive: LocalState["exclusive"],
  id: string,
): Promise<void> {
  const now = performance.now();
  if (now - (repairs.get(id) ?? Number.NEGATIVE_INFINITY) < repairPauseMs) return;
  repairs.set(id, now);
  const path = (await definitions.all()).find((one) => one.id === id)?.path;
  if (path === undefined) return;
  const repair = async () => {
    const definition = await definitions.get(path);
    if (definition?.id === id && lab(id).sandbox !== null) await lab(id).reconcileFabric(definition, await catalogue());
  };
  await exclusive(path, repair).catch((error: Error) =>
    warn(`lab ${path}: its switches ended and could not be started again: ${error.message}`),
  );
}

function openWatches(
  { paths, definitions, lab, catalogue, warn }: OpenedParts,
  { maxNeighbours, diskPace: pace = diskPace }: LocalHostOptions,
): Pick<LocalState, "neighbours" | "disks"> {
  return {
    // Only root can read the tables' counters and raise their limits.
    neighbours:
      process.getuid?.() === 0
        ? new NeighbourWatch({ definitions, lab, ...(maxNeighbours === undefined ? {} : { most: maxNeighbours }), warn })
        : undefined,
    disks: new DiskWatch({ definitions, lab, catalogue, directory: paths.state, pace, warn }),
  };
}
