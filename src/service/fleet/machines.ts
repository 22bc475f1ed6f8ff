import { Failure } from "../../contract/errors.ts";
import { protocolProblem } from "../../contract/fleet-protocol.ts";
import type {
  JoinTokenData,
  JoinTokenPayload,
  MachinePayload,
  MachineRemovePayload,
  MachinesData,
} from "../../contract/schemas/machines.ts";
import type { Caller } from "../common/call.ts";
import { timeText } from "../common/clock.ts";
import { badRequest } from "../common/refusals.ts";
import type { FleetPart, LogPart, StorePart } from "../context/parts.ts";
import { type MachineRow, type MachineStore, runsLabs, silentAfterMs } from "../store/machines.ts";
import { askNumber } from "./ask-machine.ts";

type Parts = StorePart & LogPart & FleetPart;

const hourMs = 3_600_000;
const defaultTokenHours = 1;

/** Lists the machines of the fleet; none without a fleet. Throws operation_not_allowed for callers other than admins. */
export async function listMachines(context: Parts, caller: Caller): Promise<MachinesData> {
  if (caller.role === "admin" && context.store.shared?.machines.own === undefined) return { machines: [] };
  const machines = fleetOf(context, caller);
  const labs = countOfLabs(context, machines);
  const problems = await connectionProblems(context, machines);
  return {
    machines: machines.list().map(({ number, name, url, state, labels, facts, joinedAt, seenAt, silentMs, drain }) => ({
      name,
      url,
      state,
      ...(drain !== undefined && { draining: true }),
      answers: silentMs <= silentAfterMs,
      ...(number === machines.own && { own: true }),
      ...(!runsLabs({ facts }) && { runs_labs: false }),
      labels,
      version: facts.version,
      processors: facts.processors,
      load: facts.load,
      memory_mib: facts.memory,
      available_memory_mib: facts.availableMemory,
      labs: labs.get(number) ?? 0,
      ...((facts.parts ?? 0) > 0 && { parts: facts.parts! }),
      joined_at: timeText(joinedAt),
      seen_at: timeText(seenAt),
      ...problemOf({ name, facts }, problems.get(number)),
    })),
  };
}

/** Counts the labs of each machine, by its number, from memory. */
function countOfLabs({ store }: StorePart, machines: MachineStore): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { path } of store.labs.list()) {
    const owner = machines.knownOwner(path);
    if (owner !== undefined) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  }
  return counts;
}

/** Next step of refused calls about machines. */
const machinesHint = "labwright machines list shows the machines with their labs";

/** Changes the state or the labels of a machine. Throws operation_not_allowed for callers other than admins and without a fleet, and bad_request for an unknown machine. */
export async function setMachine(context: Parts, caller: Caller, { name, state, labels }: MachinePayload): Promise<MachinesData> {
  const machines = fleetOf(context, caller);
  const change = { ...(state !== undefined && { state }), ...(labels !== undefined && { labels }) };
  if (!(await machines.set(name, change))) throw unknownMachine(machines, name);
  context.log("info", "a machine was changed", { machine: name, ...change, by: caller.user });
  return listMachines(context, caller);
}

/**
 * Removes a machine from the fleet: the others refuse its calls, and may take its labs over. Throws as setMachine, and operation_not_allowed for a machine
 * that still answers and has labs, unless `force` is set.
 */
export async function removeMachine(context: Parts, caller: Caller, { name, force }: MachineRemovePayload): Promise<MachinesData> {
  const machines = fleetOf(context, caller);
  const { machines: shown } = await listMachines(context, caller);
  const found = shown.find((one) => one.name === name);
  if (found === undefined) throw unknownMachine(machines, name);
  if (found.own === true)
    throw new Failure("operation_not_allowed", `${name} is the machine that you ask: send the call to another one`, {
      data: { hint: machinesHint },
    });
  const { labs } = found;
  const parts = found.answers ? await partsNow(context, machines, found) : (found.parts ?? 0);
  if (found.answers && labs > 0 && force !== true)
    throw new Failure(
      "operation_not_allowed",
      `${name} answers and has ${labs === 1 ? "a lab" : `${labs} labs`}, whose nodes would run on without a record: destroy them first, or add --force`,
      { data: { hint: machinesHint } },
    );
  if (found.answers && parts > 0 && force !== true)
    throw new Failure(
      "operation_not_allowed",
      `${name} answers and has nodes of ${parts === 1 ? "a lab that is" : `${parts} labs that are`} spread over machines: these nodes would be lost. Destroy the labs first, or add --force`,
      { data: { hint: machinesHint } },
    );
  await machines.remove(name);
  context.log("warn", "a machine was removed from the fleet", { machine: name, labs, parts, by: caller.user });
  return listMachines(context, caller);
}

/** Returns the number of labs of other machines that have nodes on a machine. A lab may be younger than the last report. */
async function partsNow(
  { fleet }: FleetPart,
  machines: MachineStore,
  { name, parts = 0 }: MachinesData["machines"][number],
): Promise<number> {
  const number = machines.list().find((one) => one.name === name)?.number;
  return number === undefined || fleet === undefined ? parts : askNumber(fleet, number, { name: "countParts", args: {} }, parts);
}

/** Creates a token with which one machine may join. Throws operation_not_allowed as setMachine. */
export async function createJoinToken(
  context: Parts,
  caller: Caller,
  { hours = defaultTokenHours }: JoinTokenPayload,
): Promise<JoinTokenData> {
  fleetOf(context, caller);
  const { token, expiresAt } = await context.fleet!.createToken(hours * hourMs);
  context.log("info", "a token for a new machine was created", { by: caller.user, hours });
  return { token, expires_at: timeText(expiresAt) };
}

/** Asks the other machines that report, at the same time: a firewall between two machines does not show in the database. */
async function connectionProblems({ fleet }: FleetPart, machines: MachineStore): Promise<ReadonlyMap<number, string | undefined>> {
  const others = machines.list().filter(({ number, silentMs }) => number !== machines.own && silentMs <= silentAfterMs);
  return new Map(await Promise.all(others.map(async ({ number }) => [number, await fleet?.problem(number)] as const)));
}

function problemOf(machine: Pick<MachineRow, "name" | "facts">, connection: string | undefined): { readonly problem?: string } {
  const problem = protocolProblem(machine) ?? connection;
  return problem === undefined ? {} : { problem };
}

/** Throws operation_not_allowed for callers other than admins and without a fleet. */
export function fleetOf({ store, fleet }: StorePart & FleetPart, caller: Caller): MachineStore {
  if (caller.role !== "admin") throw new Failure("operation_not_allowed", "only admins see and change the machines of the fleet");
  const machines = store.shared?.machines;
  if (fleet === undefined || machines?.own === undefined)
    throw new Failure("operation_not_allowed", "this service is not part of a fleet: start it with --store and --advertise");
  return machines;
}

export function unknownMachine(machines: MachineStore, name: string): Failure {
  return badRequest(
    "/name",
    `there is no machine ${name}; there are ${machines
      .list()
      .map((one) => one.name)
      .join(", ")}`,
  );
}
