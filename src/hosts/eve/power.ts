import { Failure } from "../../contract/errors.ts";
import type { StopMode } from "../../engine/plan.ts";
import { hostError } from "./answer.ts";
import { nodesFailed } from "./failed-nodes.ts";
import { hostFailure } from "./host-failure.ts";
import type { EveLabPath } from "./lab-path.ts";
import { readNodes } from "./lab-read.ts";
import { inTurns, nameOf, powerCall } from "./power-calls.ts";
import { bringUp } from "./start-nodes.ts";
import type { UnlLab } from "./unl.ts";
import { type EvePlace, pause } from "./world.ts";

export interface PowerRun {
  readonly place: EvePlace;
  readonly at: EveLabPath;
  readonly lab: UnlLab;
  readonly signal?: AbortSignal | undefined;
}

/** Starts the nodes and waits until they run; on Community the call means nothing to one that runs. Throws host_error naming the node, or the lab in the way. */
export async function startNodes(run: PowerRun, ids: readonly number[]): Promise<void> {
  const { place, at } = run;
  const { world } = place;
  let down = ids;
  if (world.edition.sharedNames) await refuseCollision(run, ids);
  else {
    const up = new Set((await readNodes(place.account, at)).flatMap(({ id, status }) => (status === 2 || status === 3 ? [id] : [])));
    down = ids.filter((id) => !up.has(id));
  }
  await bringUp(run, ids, down);
  for (const id of ids) world.started.add(`${at.path} ${id}`);
}

/** Stops those of the nodes that run and waits until they are down. */
export async function stopNodes(run: PowerRun, ids: readonly number[], mode: StopMode): Promise<void> {
  const { place, at } = run;
  const { edition, started } = place.world;
  const word = edition.stop[mode];
  if (word === undefined) {
    const feature = mode === 2 ? "hibernate" : "gracefulStop";
    throw new Failure("unsupported", `EVE-NG ${edition.name} has no stop mode ${mode}`, { data: { feature } });
  }
  const before = await readNodes(place.account, at);
  const up = new Set(before.filter(({ status }) => status !== 0).map(({ id }) => id));
  const doubts = new Map<number, string>();
  await inTurns(
    run,
    ids.filter((id) => up.has(id)),
    async (id) => {
      const answer = await powerCall(run, id, word, doubts);
      if (answer !== undefined && answer.code !== 80051) throw hostError(`stop node ${nameOf(before, id)}`, answer);
    },
  );
  await until(run, ids, (status) => status === 0, "stop", doubts);
  for (const id of ids) started.delete(`${at.path} ${id}`);
}

/** Stops the nodes and throws their disks away. */
export async function wipeNodes(run: PowerRun, ids: readonly number[], mode: StopMode): Promise<void> {
  const { place, at } = run;
  // A node whose preparation failed is neither up nor down until it is wiped.
  const nodes = await readNodes(place.account, at);
  const running = nodes.filter(({ id, status }) => ids.includes(id) && status > 1).map(({ id }) => id);
  if (running.length > 0) await stopNodes(run, running, mode);
  const there = new Set(nodes.map(({ id }) => id));
  const doubts = new Map<number, string>();
  await inTurns(
    run,
    ids.filter((id) => there.has(id)),
    async (id) => {
      const answer = await powerCall(run, id, "wipe", doubts);
      if (answer !== undefined && answer.code !== 80053) throw hostError(`wipe node ${nameOf(nodes, id)}`, answer);
    },
  );
  await until(run, ids, (status) => status === 0, "stop", doubts);
  // Whether a disk is gone cannot be seen.
  const unsure = [...doubts].map(([id, why]) => [id, hostFailure(`node ${nameOf(nodes, id)} may not be wiped: ${why}`)] as const);
  if (unsure.length > 0) throw nodesFailed(new Map(unsure), (id) => nameOf(nodes, id));
}

/** Waits until the nodes are as wanted. Throws nodesFailed() for those that are not after the patience. */
async function until(
  run: PowerRun,
  ids: readonly number[],
  good: (status: number) => boolean,
  verb: "stop",
  doubts: ReadonlyMap<number, string>,
): Promise<void> {
  if (ids.length === 0) return;
  const { place, at, signal } = run;
  const { world } = place;
  const end = performance.now() + world.timing.patienceMs;
  for (;;) {
    const nodes = await readNodes(place.account, at, signal);
    const status = new Map(nodes.map((node) => [node.id, node.status]));
    // A node that is gone is as stopped as can be.
    const late = ids.filter((id) => !good(status.get(id) ?? 0));
    if (late.length === 0) return;
    if (performance.now() > end) {
      const hint = world.edition.sharedNames
        ? ". On Community Edition that is also so when another lab of this user runs a node with the same number"
        : "";
      const text = (id: number) =>
        `${doubts.get(id) ?? "the host took the call"}, and ${nameOf(nodes, id)} does not ${verb} (status ${status.get(id)})`;
      throw nodesFailed(new Map(late.map((id) => [id, hostFailure(text(id) + hint)])), (id) => nameOf(nodes, id));
    }
    await pause(world, signal);
  }
}

/**
 * A running node that this lab did not start, whose number another lab has too, may be the other lab's; and a bridge of another lab that runs
 * would join both labs. Both are told before anything starts.
 */
async function refuseCollision({ place, at, lab }: PowerRun, ids: readonly number[]): Promise<void> {
  const { world, account } = place;
  const networks = new Set(
    lab.nodes.filter(({ id }) => ids.includes(id)).flatMap((node) => node.interfaces.flatMap((one) => one.network_id ?? [])),
  );
  const others = await world.others.running(account, at.path, { nodes: new Set(ids), networks });
  if (others.length === 0) return;
  const nodes = await readNodes(account, at);
  const own = new Set(lab.nodes.map(({ id }) => id));
  const sure = (id: number) => world.started.has(`${at.path} ${id}`);
  const ourOnly = nodes.some(({ id, status }) => status !== 0 && (sure(id) || others.every((other) => !other.nodes.has(id))));
  for (const other of others) {
    const theirs = other.up.filter((id) => !sure(id));
    const alone = theirs.filter((id) => !own.has(id));
    // What both have and we did not start is theirs, unless they have nothing else that runs and we have.
    const meets = theirs.filter((id) => ids.includes(id) && (alone.length > 0 || !ourOnly));
    const [id] = meets;
    if (id !== undefined) {
      const name = lab.nodes.find((node) => node.id === id)?.name ?? id;
      throw hostFailure(
        `node ${name} cannot start: on EVE-NG Community Edition labs of one user share numbers, and node ${other.nodes.get(id)} of lab ` +
          `${other.path} runs as number ${id}; stop that lab first, or deploy this one anew to get other numbers`,
        { collision: { lab: other.path, node: other.nodes.get(id), id } },
      );
    }
    const bridge = [...networks].find((network) => other.networks.has(network));
    if (bridge !== undefined && alone.length > 0) {
      throw hostFailure(
        `nodes cannot start: on EVE-NG Community Edition labs of one user share bridges, and lab ${other.path}, which runs, has a network ` +
          `${bridge} too: the labs would be joined; stop that lab first, or deploy this one anew to get other numbers`,
        { collision: { lab: other.path, network: bridge } },
      );
    }
  }
}
