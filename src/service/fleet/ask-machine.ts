import { Failure } from "../../contract/errors.ts";
import type { FleetCalls, MachineCall } from "../common/fleet-calls.ts";

/** How long another machine has for its answer, ms. */
const answerMs = 5_000;

/** Asks another machine for a number. Returns `otherwise` if it does not answer, or its release does not know the call. */
export async function askNumber(fleet: FleetCalls, machine: number, call: MachineCall, otherwise: number): Promise<number> {
  try {
    const { facts, body } = await fleet.call(machine, call, AbortSignal.timeout(answerMs));
    body.destroy();
    return typeof facts === "number" ? facts : otherwise;
  } catch (error) {
    const isAway = error instanceof Failure && (error.code === "machine_unreachable" || error.code === "unsupported");
    if (isAway || error instanceof DOMException) return otherwise;
    throw error;
  }
}
