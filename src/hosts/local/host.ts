import { existsSync, readdirSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { KeyedQueue } from "../../base/keyed-queue.ts";
import { Failure } from "../../contract/errors.ts";
import { openSpareFiles } from "../../files/spare-files.ts";
import type { Host } from "../host.ts";
import { type LocalUser, openUsers } from "./accounts/users.ts";
import { type CaptureLimits, captureLimits } from "./capture/capture-limits.ts";
import { captureWorks } from "./capture/capture-works.ts";
import { Captures, findCapture } from "./capture/captures.ts";
import { CaptureViews } from "./decoder/capture-views.ts";
import { Decoders } from "./decoder/decoders.ts";
import { openDefinitions } from "./definitions/definitions.ts";
import type { RecordedLab } from "./definitions/path-claims.ts";
import { hidingPaths } from "./files/hidden-paths.ts";
import { openTrash } from "./files/trash.ts";
import { makeTraversableDirectory } from "./files/traversable-directory.ts";
import { preflight } from "./images/preflight.ts";
import { LocalLab } from "./lab/local-lab.ts";
import { type StopGrace, stopGrace } from "./lab/stop-grace.ts";
import { bootEpoch } from "./machine/boot-epoch.ts";
import { tellingTrouble } from "./machine/machine-trouble.ts";
import type { LocalPaths } from "./machine/paths.ts";
import { isUuid } from "./machine/uuid.ts";
import type { NatPolicy } from "./nat/nat-rules.ts";
import { Readiness } from "./nodes/readiness.ts";
import { openCatalogue } from "./open-catalogue.ts";
import { shapingMeans } from "./quality/quality-means.ts";
import { Admission } from "./resources/admission.ts";
import { raiseKernelTables } from "./resources/kernel-tables.ts";
import { groupsSettled, sweepLabGroups } from "./resources/lab-groups.ts";
import { freeMemory, machineMemory } from "./resources/machine-capacity.ts";
import { limitProblems, probeMachine } from "./resources/probe-machine.ts";
import { endStrays } from "./sandbox/end-strays.ts";
import type { LocalState } from "./session/local-state.ts";
import { localQuarantine } from "./session/quarantine.ts";
import { localSession } from "./session/session.ts";
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
 * Opens the embedded host, which runs labs in namespaces of this machine. Running labs go on when it closes, and the next host on the same directories adopts
 * them. It starts to work at once; failures on the way are thrown at login.
 */
export function localHost(options: LocalHostOptions): Host {
  const { paths } = options;
  const warn = options.warn ?? ((text: string) => process.emitWarning(text, "LabwrightWarning"));
  const users = openUsers(join(paths.state, "users.json"));
  const labs = new Map<string, LocalLab>();
  const opening = open(options, labs, warn);
  // A failure is thrown at login.
  opening.catch(() => undefined);

  const session = async (user: LocalUser) =>
    hidingPaths(
      localSession(await opening, user, () => users.list()),
      privateDirectories(paths),
    );
  const calls = {
    login: async (name: string, password: string) => {
      const user = await users.check(name, password);
      if (user === null) throw new Failure("invalid_credentials", "wrong user name or password");
      return session(user);
    },
    resume: async (name: string) => {
      const user = await users.find(name);
      return user === null ? null : session(user);
    },
    holds: async (lab: string) => {
      const { definitions, quarantine } = await opening;
      return definitions.paths().includes(lab) || (await tellingTrouble(() => quarantine.list())).some((one) => one.lab === lab);
    },
    quarantined: async () => {
      const { quarantine } = await opening;
      return tellingTrouble(() => quarantine.list());
    },
    labId: async (lab: string) => {
      const { definitions } = await opening;
      return (await tellingTrouble(() => definitions.get(lab)))?.id;
    },
    labOfCapture: async (capture: string) => {
      const { definitions } = await opening;
      const there = await definitions.all();
      const at = await findCapture(
        there.map(({ id }) => definitions.directory(id)),
        capture,
      );
      return there[at]?.path;
    },
  };
  return {
    kind: "embedded",
    url: "local:",
    accounts: users.accounts,
    ...hidingPaths(calls, privateDirectories(paths)),
    close: async () => {
      const state = await opening.catch(() => undefined);
      await state?.spares.close();
      await state?.disks.close();
      await state?.neighbours?.close();
      await state?.decoders.close();
      await groupsSettled();
      await state?.trash.emptied();
      for (const lab of labs.values()) lab.release();
    },
  };
}

/** Returns the directories whose paths are hidden from users in messages. */
function privateDirectories({ state, run, images, vmImages, holder, shaper, tap }: LocalPaths): readonly string[] {
  return [state, run, images, vmImages, ...[holder, shaper, tap].map(dirname)];
}

/**
 * Removes drafts of files whose writing a crash interrupted. Synchronous, so that it is done when localHost() returns: after that the service writes here.
 */
function removeDrafts(state: string): void {
  if (!existsSync(state)) return;
  for (const name of readdirSync(state)) if (/^(users|service)\.json\.[0-9a-f]{12}\.tmp$/.test(name)) rmSync(join(state, name));
}

async function open(options: LocalHostOptions, labs: Map<string, LocalLab>, warn: (text: string) => void): Promise<LocalState> {
  const { paths } = options;
  removeDrafts(paths.state);
  await makeTraversableDirectory(paths.state);
  await makeTraversableDirectory(paths.vmImages);
  const bootId = await bootEpoch(paths.run);
  const means = probeMachine();
  for (const problem of [...(await preflight(paths)), ...limitProblems(await means)]) warn(problem);
  if (process.getuid?.() === 0) for (const line of raiseKernelTables()) warn(line);
  const trash = await openTrash(join(paths.state, "trash"), warn);
  const spares = await openSpareFiles(paths.state, warn);
  const definitions = await openDefinitions(paths.state, trash, warn, { spares, recorded: options.recorded ?? new Map() });
  const decoders = await Decoders.open({ program: paths.decoder, state: paths.state, trash, most: 4, warn });
  const readiness = new Map<string, Readiness>();
  const changes = new KeyedQueue();
  const shaping = shapingMeans(paths.shaper);
  const catalogue = openCatalogue({
    state: paths.state,
    images: paths.images,
    vmImages: paths.vmImages,
    shaping,
    capture: captureWorks(paths.tap),
    means,
    warn,
  });

  const exclusive = <T>(path: string, work: () => Promise<T>): Promise<T> => changes.run(path, () => tellingTrouble(work));

  const natPolicy = options.nat ?? { allow: [], deny: [] };
  const grace = { ...stopGrace, ...options.stopGrace };
  let sharedRange = "";
  const onSharedRange = (why: string): void => {
    if (why !== sharedRange)
      warn(`labs have no user ids of their own: ${why}; all labs of this service share one range (docs/isolation.md)`);
    sharedRange = why;
  };
  const lab = (id: string): LocalLab => {
    const known = labs.get(id);
    if (known !== undefined) return known;
    const made = new LocalLab(id, definitions.directory(id), {
      paths,
      bootId,
      shaping,
      means,
      stopGrace: grace,
      natPolicy,
      onSharedRange,
      warn,
    });
    labs.set(id, made);
    return made;
  };
  const adopt = (id: string) =>
    lab(id)
      .adopt()
      // The next use of the lab tries again and reports a failure.
      .catch((error: Error) => warn(`lab ${id}: ${error.message}`));

  for (const { lab: id, pid } of await endStrays(paths.run, definitions.ids())) {
    warn(`lab ${id}: its holder, process ${pid}, is missing from ${paths.run} and could not be reached: it was ended`);
  }
  await Promise.all(definitions.ids().map(adopt));
  await sweepLabGroups((await means).groups, undefined, warn);
  const known = new Set(definitions.ids());
  for (const id of (await readdir(paths.run)).sort()) {
    if (known.has(id) || !isUuid(id)) continue;
    await adopt(id);
    if (lab(id).isAlive) warn(`lab ${id} runs, but ${paths.state} has no definition of it: labwright quarantine lists it, and can end it`);
    lab(id).release();
    labs.delete(id);
  }

  const captures = new Captures(paths.tap, { ...captureLimits, ...options.captureLimits }, trash, () =>
    definitions.ids().map((id) => definitions.directory(id)),
  );
  await captures.sweep();

  // Links of a shaper that died while no service ran pass no frames.
  const reshape = async (path: string) => {
    const definition = await definitions.get(path);
    if (definition === undefined || lab(definition.id).sandbox === null) return;
    if (definition.links.some(({ quality }) => quality !== undefined))
      await lab(definition.id).reconcileFabric(definition, await catalogue());
  };
  const warnOf = (path: string) => (error: Error) => warn(`lab ${path}: ${error.message}`);
  await Promise.all(definitions.paths().map((path) => exclusive(path, () => reshape(path)).catch(warnOf(path))));

  const state: Omit<LocalState, "quarantine"> = {
    definitions,
    trash,
    spares,
    bootId,
    lab,
    catalogue,
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
    // Only root can read the tables' counters and raise their limits.
    neighbours:
      process.getuid?.() === 0
        ? new NeighbourWatch({
            definitions,
            lab,
            ...(options.maxNeighbours === undefined ? {} : { most: options.maxNeighbours }),
            warn,
          })
        : undefined,
    disks: new DiskWatch({
      definitions,
      lab,
      catalogue,
      directory: paths.state,
      pace: options.diskPace ?? diskPace,
      warn,
    }),
  };
  return { ...state, quarantine: localQuarantine(state, paths.run) };
}
