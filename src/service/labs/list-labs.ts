import { Failure } from "../../contract/errors.ts";
import type { LabEntry, LabsData } from "../../contract/schemas/observe.ts";
import type { LiveNode } from "../../hosts/host.ts";
import type { Caller } from "../common/call.ts";
import { timeText } from "../common/clock.ts";
import { originOf } from "../context/allow.ts";
import type { JobsPart, LookupParts, ObservationsPart, ResumePart, SessionsPart, UsesPart } from "../context/parts.ts";
import { usesOf } from "../leases/lease.ts";
import { lostOf, resumeState } from "../power/resume.ts";
import { reaches, rightOn, seesUnrecorded } from "../sessions/rights.ts";
import type { LabRecord } from "../store/store.ts";
import { recordedIntent } from "../work/intents.ts";

/** Lists the managed labs on which the caller has a right, and the unmanaged labs that the caller may see. */
export async function listLabs(
  context: LookupParts & JobsPart & ObservationsPart & ResumePart & UsesPart,
  caller: Caller,
): Promise<LabsData> {
  const host = await context.sessions.hostSession(caller);
  const onHost = new Set(await host.labs());
  const records = context.store.labs.list();
  const managed = await Promise.all(
    records.map(async (record): Promise<LabEntry | undefined> => {
      const right = rightOn(record, caller);
      if (right === undefined) return undefined;
      const lab = (await recordedIntent(context, record))?.lab;
      const resume = await resumeState(context, record.path, record, await interruptedNodes(context, caller, record));
      return {
        lab: record.path,
        name: lab?.name ?? nameOf(record.path),
        mode: record.mode,
        owner: record.owner,
        right,
        exists: onHost.has(record.path) || (await onHostOf(context, caller, record)),
        ...originOf({ record, caller }),
        ...(lab !== undefined && { nodes: lab.nodes.length }),
        ...(resume !== undefined && { resume }),
        ...usesOf(context, record),
        updated_at: timeText(record.updatedAt),
      };
    }),
  );
  const known = new Set(records.map(({ path }) => path));
  const found = [...onHost]
    .filter((path) => !known.has(path) && seesUnrecorded(context.host, caller) && reaches(caller, path))
    .map((path): LabEntry => ({ lab: path, name: nameOf(path), mode: "load", exists: true }));
  const shown = managed.filter((entry) => entry !== undefined);
  return { labs: [...shown, ...found].sort((a, b) => (a.lab < b.lab ? -1 : 1)) };
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
