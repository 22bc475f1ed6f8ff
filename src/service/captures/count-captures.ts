import { Readable } from "node:stream";
import Type from "typebox";
import { Check } from "typebox/value";
import { Failure } from "../../contract/errors.ts";
import type { HostCaptures } from "../../hosts/host-captures.ts";
import type { MachineAnswer, MachineCall } from "../common/fleet-calls.ts";
import type { FleetPart, SessionsPart, StorePart } from "../context/parts.ts";
import { askNumber } from "../fleet/ask-machine.ts";
import { type LabRecord, labsHere } from "../store/store.ts";

const name = "countCaptures";
const Labs = Type.Object({ labs: Type.Array(Type.String()) });

/**
 * Returns the number of captures of these labs on the other machines of the fleet. A machine that does not answer, or whose release cannot count them, counts as 0:
 * a user must be able to capture while another machine is away.
 */
export async function capturesElsewhere({ store, fleet }: StorePart & FleetPart, labs: readonly LabRecord[]): Promise<number> {
  const machines = store.shared?.machines;
  if (fleet === undefined || machines?.own === undefined) return 0;
  const byMachine = new Map<number, string[]>();
  for (const { path } of labs) {
    const owner = machines.knownOwner(path);
    if (owner !== undefined && owner !== machines.own) byMachine.set(owner, [...(byMachine.get(owner) ?? []), path]);
  }
  const counts = await Promise.all([...byMachine].map(([machine, paths]) => askNumber(fleet, machine, { name, args: { labs: paths } }, 0)));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Answers another machine with the number of captures of labs on this one; undefined for any other call. Throws bad_request. */
export async function answerCount(
  context: StorePart & SessionsPart,
  { name: asked, args }: MachineCall,
): Promise<MachineAnswer | undefined> {
  if (asked !== name) return undefined;
  if (!Check(Labs, args)) throw new Failure("bad_request", `the call ${name} of a machine has no labs`);
  const wanted = new Set(args.labs);
  let facts = 0;
  for (const { path, owner } of labsHere(context.store)) {
    if (!wanted.has(path)) continue;
    const session = await context.sessions.resume(owner);
    try {
      facts += await countOf(session.captures, path);
    } finally {
      await session.close();
    }
  }
  return { facts, body: Readable.from([], { objectMode: false }) };
}

/** Returns the number of captures of a lab; 0 if the host has lost it. */
export async function countOf(captures: Pick<HostCaptures, "list"> | undefined, lab: string): Promise<number> {
  try {
    return (await captures?.list(lab))?.length ?? 0;
  } catch (error) {
    if (error instanceof Failure && error.code === "lab_not_found") return 0;
    throw error;
  }
}
