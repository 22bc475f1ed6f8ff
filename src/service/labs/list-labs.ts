import { Failure } from "../../contract/errors.ts";
import type { LabEntry, LabsData } from "../../contract/schemas/observe.ts";
import type { LiveNode } from "../../hosts/host.ts";
import type { Call, Caller } from "../common/call.ts";
import { timeText } from "../common/clock.ts";
import { originOf } from "../context/allow.ts";
import type { FleetPart, JobsPart, LookupParts, ObservationsPart, ResumePart, SessionsPart, UsesPart } from "../context/parts.ts";
import { usesOf } from "../leases/lease.ts";
import { ownMachine } from "../placement/own-machine.ts";
import { lostOf, resumeState } from "../power/resume.ts";
import { reaches, rightOn, seesUnrecorded } from "../sessions/rights.ts";
import type { MachineRow } from "../store/machines.ts";
import type { LabRecord } from "../store/store.ts";
import { recordedIntent } from "../work/intents.ts";

type ListParts = LookupParts & JobsPart & ObservationsPart & ResumePart & UsesPart & FleetPart;

/** Lists the managed labs on which the caller has a right, and the unmanaged labs that the caller may see; in a fleet those of all machines. */
export async function listLabs(context: ListParts, caller: Caller, call: Pick<Call, "requestId" | "isForwarded">): Promise<LabsData> {
  const machines = context.store.shared?.machines;
  if (machines?.own === undefined) return { labs: await labsHere(context, caller, context.store.labs.list()) };
  // From memory: lists must not fail while the database is away, and each machine that is asked for its list would read the owners of all labs.
  const ownedBy = (number: number | undefined) => context.store.labs.list().filter(({ path }) => machines.knownOwner(path) === number);
  // Those of a machine that was removed, which no other has taken over, are listed by the machine that the user asks.
  const lost = call.isForwarded === true ? [] : ownedBy(undefined);
  const own = await labsHere(context, caller, [...ownedBy(machines.own), ...lost]);
  if (call.isForwarded === true) return { labs: own };
  const others = machines.list().filter(({ number }) => number !== machines.own);
  const lists = await Promise.all(
    others.map(async (machine) => {
      try {
        return (await context.fleet?.list(machine.number, "listLabs", caller, call.requestId))?.labs ?? [];
      } catch (error) {
        if (!(error instanceof Failure) || error.code !== "machine_unreachable") throw error;
        return labsUnreachable(context, caller, ownedBy(machine.number), machine);
      }
    }),
  );
  return { labs: eachOnce([...own, ...lists.flat()]).sort((a, b) => (a.lab < b.lab ? -1 : 1)) };
}

/** A lab that has just moved may be in the lists of both machines: the one with its nodes is the new one. */
function eachOnce(entries: readonly LabEntry[]): LabEntry[] {
  const found = new Map<string, LabEntry>();
  for (const entry of entries) if (entry.exists || !found.has(entry.lab)) found.set(entry.lab, entry);
  return [...found.values()];
}

/** The labs of a machine that does not answer, as their records have them. */
async function labsUnreachable(
  context: ListParts,
  caller: Caller,
  records: readonly LabRecord[],
  { name, seenAt }: Pick<MachineRow, "name" | "seenAt">,
): Promise<readonly LabEntry[]> {
  const entries = records.map(async (record): Promise<LabEntry | undefined> => {
    const right = rightOn(record, caller);
    return right === undefined
      ? undefined
      : {
          ...(await recordedEntry(context, caller, record, right)),
          machine: name,
          unreachable_since: timeText(seenAt),
          exists: record.labId !== undefined,
        };
  });
  return (await Promise.all(entries)).filter((entry) => entry !== undefined);
}

/** The part of an entry that does not need the host. */
async function recordedEntry(
  context: ListParts,
  caller: Caller,
  record: LabRecord,
  right: LabEntry["right"],
): Promise<Omit<LabEntry, "exists">> {
  const lab = (await recordedIntent(context, record))?.lab;
  return {
    lab: record.path,
    name: lab?.name ?? nameOf(record.path),
    mode: record.mode,
    owner: record.owner,
    ...(right !== undefined && { right }),
    ...originOf({ record, caller }),
    ...(lab !== undefined && { nodes: lab.nodes.length }),
    ...usesOf(context, record),
    updated_at: timeText(record.updatedAt),
  };
}

async function labsHere(context: ListParts, caller: Caller, records: readonly LabRecord[]): Promise<LabEntry[]> {
  const host = await context.sessions.hostSession(caller);
  const onHost = new Set(await host.labs());
  const managed = await Promise.all(
    records.map(async (record): Promise<LabEntry | undefined> => {
      const right = rightOn(record, caller);
      if (right === undefined) return undefined;
      const resume = await resumeState(context, record.path, record, await interruptedNodes(context, caller, record));
      return {
        ...(await recordedEntry(context, caller, record, right)),
        ...ownMachine(context.store),
        exists: onHost.has(record.path) || (await onHostOf(context, caller, record)),
        ...(resume !== undefined && { resume }),
      };
    }),
  );
  const known = new Set(context.store.labs.list().map(({ path }) => path));
  const found = [...onHost]
    .filter((path) => !known.has(path) && seesUnrecorded(context.host, caller) && reaches(caller, path))
    .map((path): LabEntry => ({ lab: path, name: nameOf(path), mode: "load", ...ownMachine(context.store), exists: true }));
  const shown = managed.filter((entry) => entry !== undefined);
  return [...shown, ...found].sort((a, b) => (a.lab < b.lab ? -1 : 1));
}

/** Reads only labs that had stopped before the service started: a list must not read every lab. */
async function interruptedNodes(
  context: SessionsPart & ObservationsPart & ResumePart,
  caller: Caller,
  { path, owner }: LabRecord,
): Promise<readonly LiveNode[]> {
  if (!context.interrupted.has(path)) return [];
  try {
    const { nodes } = await context.observations.status(await context.sessions.hostSessionFor(caller, owner), path);
    if (lostOf(nodes).length === 0) context.interrupted.delete(path);
    return nodes;
  } catch (error) {
    // The lab is deleted or cannot be read now: its status reports the reason.
    if (!(error instanceof Failure)) throw error;
    return [];
  }
}

/** The host may show a shared lab only to its owner. */
async function onHostOf(context: SessionsPart, caller: Caller, { path, owner }: LabRecord): Promise<boolean> {
  if (owner === caller.user || caller.role !== "user") return false;
  return (await (await context.sessions.hostSessionFor(caller, owner)).labs()).includes(path);
}

function nameOf(path: string): string {
  return path.split("/").at(-1)!;
}
