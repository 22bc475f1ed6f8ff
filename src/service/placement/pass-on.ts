import { Failure } from "../../contract/errors.ts";
import { protocolProblem } from "../../contract/fleet-protocol.ts";
import { Elsewhere } from "../common/elsewhere.ts";
import { type MachineStore, runsLabs, silentAfterMs } from "../store/machines.ts";

/** Returns the number of a machine that has labs and answers, for calls that any of them can answer. */
export function anyWithLabs(machines: Pick<MachineStore, "list"> | undefined): number | undefined {
  const ready = (machines?.list() ?? []).filter(
    (row) => runsLabs(row) && protocolProblem(row) === undefined && row.silentMs <= silentAfterMs,
  );
  return (ready.find(({ state }) => state === "active") ?? ready[0])?.number;
}

/**
 * Returns what a machine without labs throws for a call that only a host with labs can answer, such as that for the templates: Elsewhere for a machine that
 * answers, else host_unreachable.
 */
export function elsewhereForLabs(machines: Pick<MachineStore, "list"> | undefined): Elsewhere | Failure {
  const number = anyWithLabs(machines);
  if (number !== undefined) return new Elsewhere(number);
  return new Failure(
    "host_unreachable",
    "this machine of the fleet runs no labs (--host none), and no machine that runs labs answers: labwright machines list shows them; labwright machines token lets one join",
  );
}

/** Returns the failure for a call about the host of this machine itself, if it runs no labs: with the next step. */
export function withNextStep(error: Failure, machines: Pick<MachineStore, "list"> | undefined): Failure {
  const names = (machines?.list() ?? []).filter(runsLabs).map(({ name }) => name);
  const next = names.length === 0 ? "let one join that does: labwright machines token" : `ask one that does: ${names.join(", ")}`;
  const options = { ...(error.data !== undefined && { data: error.data as never }) };
  return new Failure(error.code, `${error.message}. This machine of the fleet runs no labs (--host none): ${next}`, options);
}
