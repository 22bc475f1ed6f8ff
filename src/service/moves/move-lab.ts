import { createInterface } from "node:readline";
import Type, { type Static } from "typebox";
import { Failure } from "../../contract/errors.ts";
import { flag } from "../../contract/schemas/shapes.ts";
import type { HostMoves, MovableLab } from "../../hosts/host-fleet.ts";
import { applyOperations } from "../changes/apply.ts";
import type { ChangeKind } from "../changes/change-kind.ts";
import { withOwedStarts } from "../changes/owed-starts.ts";
import type { FleetCalls } from "../common/fleet-calls.ts";
import { labNotFound } from "../common/refusals.ts";
import type { ChangeParts } from "../context/parts.ts";
import type { Target } from "../context/target.ts";
import type { Job } from "../jobs/jobs.ts";
import { choosePlace, imagesOf, memoryOf, nodeMemory } from "../placement/choose-place.ts";
import { operationOf } from "../power/power.ts";
import { arriving, reservedRoom } from "../reservations/admit.ts";
import type { MachineRow, MachineStore } from "../store/machines.ts";

/** Journal request of a move. stop: running nodes are stopped first, and started on the other machine. */
const MoveRequest = Type.Object({ stop: flag });
type MoveRequest = Static<typeof MoveRequest>;

/** The result of a move. The other machine writes it into the journal when it takes the lab. */
export interface MovedLab {
  readonly lab: string;
  readonly machine: string;
  readonly bytes: number;
  /** For people. */
  readonly notes: readonly string[];
}

/** Where a lab is after an attempt to give it to another machine. */
type Given = MovedLab | { readonly refused: string };

/**
 * Moves a lab with its disks to another machine of the fleet. The other machine takes the lab in the transaction that ends this job as done: until then the lab
 * is here, after any failure.
 */
export const moveKind: ChangeKind<typeof MoveRequest, MovedLab> = {
  operation: "moveLab",
  version: 1,
  request: MoveRequest,
  run: ({ context, job, target }, request) => moveLab(context, job, target, request),
};

async function moveLab(context: ChangeParts, job: Job, target: Target, { stop }: MoveRequest): Promise<MovedLab> {
  const { path } = target;
  const parts = moveParts(context);
  const start = stop ? await nodesToStart(context, target) : [];
  // A lab that no machine can take is not stopped.
  if (stop)
    placeFor(
      context,
      target,
      Object.keys(target.ids.nodes).map(() => ({})),
      parts,
      [],
    );
  await parts.moves.setLeaving(path, { job: job.id, start });
  if (stop) await stopNodes(context, job, target, start);
  const lab = await parts.moves.describe(path);
  const refused: string[] = [];
  context.moving.sent.set(job.id, { lab: path });
  try {
    for (;;) {
      const machine = placeFor(context, target, lab.nodes, parts, refused);
      const given = await give(parts, job, { lab, start, machine, by: target.caller.user });
      if (!("refused" in given)) {
        // From here on the lab is over there. If its copy cannot be removed now, settleMoves does it.
        await parts.moves.leave(path).catch((error: unknown) =>
          context.log("error", "the copy of a lab that was moved could not be removed; it is tried again", {
            lab: path,
            error: String(error),
          }),
        );
        return given;
      }
      refused.push(given.refused);
      parts.without.add(machine.name);
    }
  } finally {
    context.moving.sent.delete(job.id);
  }
}

interface MoveParts {
  readonly moves: HostMoves;
  readonly fleet: FleetCalls;
  readonly machines: MachineStore;
  /** Machines that have refused the lab. */
  readonly without: Set<string>;
}

function moveParts({ host: { moves }, fleet, store }: Pick<ChangeParts, "host" | "fleet" | "store">): MoveParts {
  const machines = store.shared?.machines;
  if (moves === undefined || fleet === undefined || machines?.own === undefined)
    throw new Failure("unsupported", "labs move only between machines of a fleet with the embedded host");
  return { moves, fleet, machines, without: new Set() };
}

/** Returns the keys of the nodes that run, and of those that an earlier attempt has stopped. */
async function nodesToStart({ store }: Pick<ChangeParts, "store">, { host, path, ids }: Target): Promise<readonly string[]> {
  const observed = await host.observe(path);
  if (observed === null) throw labNotFound(path);
  const up = new Set(observed.nodes.filter(({ power }) => power !== "stopped" && power !== "failed").map(({ id }) => id));
  const running = Object.entries(ids.nodes).flatMap(([key, id]) => (up.has(id) ? [key] : []));
  return [...new Set([...(store.labs.get(path)?.owedStarts ?? []), ...running])].sort();
}

/** Stops the nodes, and records first that they are to be started again: also after a crash. */
async function stopNodes(context: ChangeParts, job: Job, target: Target, start: readonly string[]): Promise<void> {
  const { path, host, ids } = target;
  const record = context.store.labs.get(path);
  if (start.length === 0 || record === undefined) return;
  await context.store.labs.put(withOwedStarts(record, start));
  const observed = await host.observe(path);
  const nodes = new Map(observed?.nodes.map((node) => [node.id, node]));
  const operations = start.flatMap((key) => {
    const node = nodes.get(ids.nodes[key] ?? "");
    const isUp = node !== undefined && node.power !== "stopped" && node.power !== "failed";
    return isUp ? [operationOf({ do: "stop", node: key, mode: 3 }, key, node, "stop")] : [];
  });
  if (operations.length > 0) await applyOperations(context.consoles, host, job, { path, operations, ids, stopMode: 3 });
}

/** Throws host_error if no machine can take the lab. */
function placeFor(
  context: ChangeParts,
  target: Target,
  nodes: readonly { readonly image?: MovableLab["nodes"][number]["image"] }[],
  { machines, without }: MoveParts,
  refused: readonly string[],
): MachineRow {
  const rows = machines.list();
  const own = rows.find(({ number }) => number === machines.own)?.name;
  const intent = target.intent?.lab;
  if (intent?.place?.machine !== undefined && intent.place.machine === own)
    throw new Failure(
      "host_error",
      `the text of ${target.path} names this machine: remove place: {machine: ${own}} and apply it, or destroy the lab`,
      {
        data: { host: { message: "place.machine" } },
      },
    );
  const memory = intent === undefined ? nodes.length * nodeMemory : memoryOf(intent);
  const others = rows.filter(({ number, name }) => number !== machines.own && !without.has(name));
  const images = intent === undefined ? nodes.flatMap(({ image }) => image ?? []) : imagesOf(intent);
  const reserved = target.record === undefined ? {} : reservedRoom(context, arriving(target.record, context.clock.now()));
  const chosen = choosePlace(others, memory, [], intent?.place, images, reserved);
  if (!("refused" in chosen)) return chosen.machine;
  const why = [...refused, ...chosen.refused];
  context.log("info", "no machine can take a lab", { lab: target.path, why });
  const text = why.length === 0 ? "there is no other machine" : why.join("; ");
  throw new Failure("host_error", `no machine can take ${target.path}: ${text}`, { data: { host: { message: text } } });
}

/** Offers the lab to a machine, which then reads its files. Returns its refusal if the lab is still here. */
async function give(
  { fleet, machines }: MoveParts,
  job: Job,
  {
    lab,
    start,
    machine,
    by,
  }: { readonly lab: MovableLab; readonly start: readonly string[]; readonly machine: MachineRow; readonly by: string },
): Promise<Given> {
  const begin = `moving to ${machine.name}`;
  job.progresses(begin);
  try {
    const { body } = await fleet.call(machine.number, { name: "takeLab", args: { lab, job: job.id, start, by } }, job.signal);
    for await (const line of createInterface({ input: body })) {
      const news = JSON.parse(line) as TakeNews;
      if ("progress" in news) job.progresses(`${begin}: ${news.progress}`);
      else if ("taken" in news) return news.taken;
      else throw new Failure(news.failure.code as "internal", news.failure.message);
    }
    throw new Failure("machine_unreachable", `the machine ${machine.name} ended the move`, { data: { machine: machine.name } });
  } catch (error) {
    // Only the database knows whether it was before or after the lab was taken.
    const owner = await machines.ownerOf(lab.lab, false);
    if (owner !== undefined) return { lab: lab.lab, machine: owner.name, bytes: lab.bytes, notes: [] };
    job.signal.throwIfAborted();
    if (!(error instanceof Failure)) throw error;
    return { refused: `${machine.name}: ${error.message}` };
  }
}

/** A line of the answer of the machine that takes a lab. */
export type TakeNews =
  | { readonly progress: string }
  | { readonly taken: MovedLab }
  | { readonly failure: { readonly code: string; readonly message: string } };
