import { Failure } from "../../../contract/errors.ts";
import type { NumberClash } from "../../../engine/model/observed.ts";
import type { StopMode } from "../../../engine/model/plan.ts";
import { hostError } from "../api/answer.ts";
import { hostFailure } from "../api/host-failure.ts";
import type { UnlLab } from "../lab-file/unl.ts";
import { numberClash, readPower } from "../labs/clashes.ts";
import { refuseSharedId } from "../labs/shared-id.ts";
import { type EvePlace, pause } from "../labs/world.ts";
import type { EveLabPath } from "../read/lab-path.ts";
import { type NodeStatus, readNodes } from "../read/lab-read.ts";
import type { Clashes } from "../read/observe.ts";
import { communityPort } from "./console.ts";
import { failedNodes, nodesFailed } from "./failed-nodes.ts";
import { inTurns, nameOf, type PendingOutcome, powerCall } from "./power-calls.ts";
import { bringUp } from "./start-nodes.ts";

export interface PowerRun {
  readonly place: EvePlace;
  readonly at: EveLabPath;
  readonly lab: UnlLab;
  readonly signal?: AbortSignal | undefined;
  /** Continues if a node does not stop. */
  readonly force?: boolean | undefined;
  /** Receives the nodes that are as wanted, while others are waited for. */
  readonly reached?: ((ids: ReadonlySet<number>) => void) | undefined;
}

/**
 * Starts the nodes and waits until they run. On Community the call has no effect on a running node. A node that cannot start does not stop the
 * others: throws nodesFailed() at the end, with number_clash naming the other lab, node_stuck, or host_error.
 */
export async function startNodes(run: PowerRun, ids: readonly number[]): Promise<void> {
  const { place, at } = run;
  const owners = place.world.owners.of(place.account);
  const { nodes, clashes } = await readPower(place, at, run.signal);
  const refused = new Map<number, Failure>();
  if (place.world.edition.sharedNames) {
    for (const id of ids) {
      const clash = clashes.get(id);
      if (clash !== undefined) refused.set(id, numberClash(startRefused(run, nameOf(nodes, id), clash), clash));
    }
    for (const { id, name } of await stuckNodes(run, ids, nodes)) refused.set(id, nodeStuck(name));
  }
  const wanted = ids.filter((id) => !refused.has(id));
  if (place.world.edition.sharedNames) await refuseSharedBridge(run, wanted);
  const up = new Set(nodes.flatMap(({ id, status }) => (status === 2 || status === 3 ? [id] : [])));
  const down = wanted.filter((id) => !up.has(id));
  for (const id of down) owners.starting(id, at.path);
  try {
    await bringUp(run, wanted, down);
  } catch (error) {
    const failed = failedNodes(error);
    if (refused.size === 0 || failed.size === 0) throw error;
    for (const [id, message] of failed) refused.set(id, hostFailure(message));
  } finally {
    for (const id of down) owners.started(id);
  }
  if (refused.size > 0) throw nodesFailed(refused, (id) => nameOf(nodes, id));
}

function startRefused({ place }: PowerRun, name: string, { number, lab }: NumberClash): string {
  if (lab !== undefined) return `node ${name} cannot start`;
  return `node ${name} cannot start: another program listens on its console port ${communityPort(place.pod, number)}`;
}

/** Returns the nodes whose lock stays. Waits a while for a node that the host is preparing. */
async function stuckNodes(run: PowerRun, ids: readonly number[], before: readonly NodeStatus[]): Promise<readonly NodeStatus[]> {
  const { place, at, signal } = run;
  const stuck = (nodes: readonly NodeStatus[]) => nodes.filter(({ id, status }) => status === 1 && ids.includes(id));
  const end = performance.now() + place.world.timing.settleMs;
  let found = stuck(before);
  while (found.length > 0 && performance.now() < end) {
    await pause(place.world, signal);
    found = stuck(await readNodes(place.account, at, signal));
  }
  return found;
}

function nodeStuck(node: string): Failure {
  return new Failure(
    "node_stuck",
    `node ${node} cannot start: an interrupted start on the host left its lock behind (status 1), so that the host answers start and stop ` +
      "and does neither. labwright wipe ends that, and deletes the node's disk: the host has no other way",
    { data: { node } },
  );
}

/**
 * Stops the running nodes and waits until they are down. Nodes whose number runs for another lab fail with number_clash, after the others. If only
 * the stop shows that another lab runs under a node's number, the node counts as stopped.
 */
export async function stopNodes(run: PowerRun, ids: readonly number[], mode: StopMode): Promise<void> {
  const { foreign: all, settled } = await bringDown(run, ids, mode);
  const foreign = new Map([...all].filter(([id]) => !settled.has(id)));
  if (foreign.size === 0 || run.force === true) return;
  const name = (id: number) => nameOf(run.lab.nodes, id);
  throw nodesFailed(new Map([...foreign].map(([id, clash]) => [id, numberClash(`node ${name(id)} was not stopped`, clash)])), name);
}

export interface BroughtDown {
  /** Nodes whose number runs for another lab: nothing of this lab runs there. */
  readonly foreign: Clashes;
  /** The foreign numbers that this stop has detected. */
  readonly settled: ReadonlySet<number>;
  /** With `force`: nodes that do not stop. */
  readonly late: readonly number[];
}

/**
 * Stops the running nodes. A stop never ends another lab's node, so nodes with an unknown owner are stopped too: a number that still runs afterwards
 * is not this lab's. If another lab has the same lab id, a stop would end its nodes: then nothing is stopped.
 */
export async function bringDown(run: PowerRun, ids: readonly number[], mode: StopMode): Promise<BroughtDown> {
  const { place, at } = run;
  const { edition, owners: all, timing } = place.world;
  const word = edition.stop[mode];
  if (word === undefined) {
    const feature = mode === 2 ? "hibernate" : "gracefulStop";
    throw new Failure("unsupported", `EVE-NG ${edition.name} has no stop mode ${mode}`, { data: { feature } });
  }
  const { nodes: before, clashes } = await readPower(place, at, run.signal);
  const own = ids.filter((id) => clashes.get(id)?.certain !== true);
  const uncertain = own.filter((id) => clashes.has(id));
  if (uncertain.length > 0) await refuseSharedId(place, at, { what: `nothing of lab ${at.path} was stopped`, ids: uncertain });
  const up = new Set(before.filter(({ status }) => !isDown(run, status)).map(({ id }) => id));
  const pending = new Map<number, PendingOutcome>();
  const stop = async (id: number) => {
    const answer = await powerCall(run, id, word, pending);
    if (answer !== undefined && answer.code !== 80051) throw hostError(`stop node ${nameOf(before, id)}`, answer);
  };
  await inTurns(
    run,
    own.filter((id) => up.has(id)),
    stop,
  );
  const sure = own.filter((id) => !clashes.has(id));
  const down = (status: number) => isDown(run, status);
  // On Community a repeated stop is harmless. On other editions its effect is not known.
  const again = edition.sharedNames ? await lateAfter(run, [...pending.keys()], down, timing.settleMs) : [];
  for (const id of again) pending.delete(id);
  await inTurns(run, again, stop);
  const owners = all.of(place.account);
  const late = run.force ? await lateAfter(run, sure, down, timing.settleMs) : [];
  const stopped = (some: readonly number[], but: readonly number[]) => {
    for (const id of some) if (up.has(id) && !but.includes(id)) owners.stopped(id, at.path);
  };
  try {
    if (!run.force) await until(run, sure, down, pending);
    stopped(sure, late);
  } catch (error) {
    const failed = [...failedNodes(error).keys()];
    for (const id of failed) owners.stopFailed(id, at.path);
    if (failed.length > 0) stopped(sure, failed);
    throw error;
  }
  const strangers = await lateAfter(run, uncertain, down, timing.settleMs);
  for (const id of strangers) owners.disown(id, at.path);
  stopped(uncertain, strangers);
  const after = uncertain.length === 0 ? clashes : (await readPower(place, at, run.signal)).clashes;
  const foreign = new Map([...after].filter(([id, { certain }]) => certain && ids.includes(id)));
  // A foreign process without a lab belongs to a deleted lab. It is not settled: it needs another next step.
  const settled = new Set(uncertain.filter((id) => foreign.get(id)?.lab !== undefined));
  return { foreign, settled, late };
}

/** On Community, status 1 means a left-over lock of a node without a process. */
function isDown({ place }: PowerRun, status: number): boolean {
  return place.world.edition.sharedNames ? status < 2 : status === 0;
}

/**
 * Refuses, without `force`, to remove or wipe nodes while a process runs under one of their numbers that belongs to no other known lab: it may be this lab's, and
 * nothing could end it afterwards. Throws nodesFailed().
 */
export function refuseStrays({ force, lab }: PowerRun, foreign: Clashes): void {
  const strays = [...foreign].filter(([, clash]) => clash.lab === undefined);
  if (force === true || strays.length === 0) return;
  const name = (id: number) => nameOf(lab.nodes, id);
  throw nodesFailed(new Map(strays.map(([id, clash]) => [id, numberClash(`node ${name(id)} was not removed or wiped`, clash)])), name);
}

const nothing: BroughtDown = { foreign: new Map(), settled: new Set(), late: [] };

/** Stops the nodes and deletes their disks. */
export async function wipeNodes(run: PowerRun, ids: readonly number[], mode: StopMode): Promise<void> {
  const { place, at } = run;
  if (ids.length > 0) await refuseSharedId(place, at, { what: `nothing of lab ${at.path} was wiped`, ids });
  // A node whose preparation failed is neither up nor down until it is wiped.
  const nodes = await readNodes(place.account, at);
  const running = nodes.filter(({ id, status }) => ids.includes(id) && status > 1).map(({ id }) => id);
  const { foreign, late } = running.length > 0 ? await bringDown(run, running, mode) : nothing;
  refuseStrays(run, foreign);
  const there = new Set(nodes.map(({ id }) => id));
  const pending = new Map<number, PendingOutcome>();
  const wipe = async (id: number) => {
    const answer = await powerCall(run, id, "wipe", pending);
    if (answer !== undefined && answer.code !== 80053) throw hostError(`wipe node ${nameOf(nodes, id)}`, answer);
  };
  await inTurns(
    run,
    ids.filter((id) => there.has(id) && !late.includes(id)),
    wipe,
  );
  // The host does not show whether a disk is deleted, and a second wipe does no harm.
  const again = [...pending.keys()];
  pending.clear();
  await inTurns(run, again, wipe);
  const mine = ids.filter((id) => !foreign.has(id) && !late.includes(id));
  await until(run, mine, (status) => status === 0, pending);
  const unsure = [...pending].map(
    ([id, { text }]) =>
      [id, hostFailure(`it is not certain that node ${nameOf(nodes, id)} was wiped: ${text}; labwright wipe tries again`)] as const,
  );
  if (unsure.length > 0) throw nodesFailed(new Map(unsure), (id) => nameOf(nodes, id));
}

/** Returns the nodes that do not have the wanted state after this time. A deleted node counts as stopped. */
async function lateAfter(
  { place, at, signal }: PowerRun,
  ids: readonly number[],
  good: (status: number) => boolean,
  patienceMs: number,
): Promise<readonly number[]> {
  const end = performance.now() + patienceMs;
  let late = ids;
  while (late.length > 0) {
    const status = new Map((await readNodes(place.account, at, signal)).map((node) => [node.id, node.status]));
    late = ids.filter((id) => !good(status.get(id) ?? 0));
    if (late.length === 0 || performance.now() > end) break;
    await pause(place.world, signal);
  }
  return late;
}

/**
 * Waits until the nodes are down. Throws nodesFailed() for those that are not in time: on Community a stop ends the process at once, elsewhere the
 * guest may shut down first.
 */
async function until(
  run: PowerRun,
  ids: readonly number[],
  good: (status: number) => boolean,
  pending: ReadonlyMap<number, PendingOutcome>,
): Promise<void> {
  if (ids.length === 0) return;
  const { place, at, signal } = run;
  const { timing, edition } = place.world;
  const limitMs = edition.sharedNames ? Math.min(timing.goneMs, timing.patienceMs) : timing.patienceMs;
  const end = performance.now() + limitMs;
  for (;;) {
    const nodes = await readNodes(place.account, at, signal);
    const status = new Map(nodes.map((node) => [node.id, node.status]));
    // A deleted node counts as stopped.
    const late = ids.filter((id) => !good(status.get(id) ?? 0));
    run.reached?.(new Set(ids.filter((id) => !late.includes(id))));
    if (late.length === 0) return;
    if (performance.now() > end) {
      const hint = edition.sharedNames
        ? "labwright stop tries again. If its process hangs, an administrator of the host ends it, or labwright destroy --force deletes the lab without it. " +
          "If a process of a deleted lab has its number, labwright renumber gives the node another one"
        : "labwright stop tries again";
      const text = (id: number) => {
        const outcome = pending.get(id);
        const state = `${nameOf(nodes, id)} still runs after ${limitMs / 1000} s (status ${status.get(id)})`;
        return outcome === undefined
          ? `the host accepted the stop, and ${state}: ${hint}`
          : `${outcome.text}, and ${state}: labwright stop tries again`;
      };
      throw nodesFailed(new Map(late.map((id) => [id, hostFailure(text(id))])), (id) => nameOf(nodes, id));
    }
    await pause(place.world, signal);
  }
}

/**
 * Throws number_clash if a bridge of a running other lab has the same name: on Community Edition labs of one user share bridges, so that it would
 * connect both labs.
 */
async function refuseSharedBridge({ place, at, lab }: PowerRun, ids: readonly number[]): Promise<void> {
  const { world, account } = place;
  const starting = lab.nodes.filter(({ id }) => ids.includes(id));
  const networks = new Set(starting.flatMap((node) => node.interfaces.flatMap((one) => one.network_id ?? [])));
  if (networks.size === 0) return;
  const owners = world.owners.of(account);
  const own = new Set(lab.nodes.map(({ id }) => id));
  for (const other of await world.others.runningBeside(account, at.path, { nodes: new Set(), networks })) {
    // If the owner is not known, a number that this lab also has may be its own.
    const runs = other.up.some((id) => (owners.of(id) ?? (own.has(id) ? undefined : other.path)) === other.path);
    const network = [...networks].find((one) => other.networks.has(one));
    if (!runs || network === undefined) continue;
    throw new Failure(
      "number_clash",
      `nodes cannot start: on EVE-NG Community Edition labs of one user share bridges, and lab ${other.path}, which runs, has a network ` +
        `${network} too: the labs would be joined; stop that lab first, or give this one other numbers with labwright renumber`,
      { data: { clash: { number: network, lab: other.path, certain: true }, collision: { lab: other.path, network } } },
    );
  }
}
