import { currentCall } from "../common/current-call.ts";
import type { PlacementFacts } from "../common/elsewhere.ts";
import type { Store } from "../store/store.ts";

/** The machine of this service as a field of an answer; none without a fleet. */
export function ownMachine({ shared }: Pick<Store, "shared">): { readonly machine?: string } {
  const machines = shared?.machines;
  const own = machines?.list().find(({ number }) => number === machines.own);
  return own === undefined ? {} : { machine: own.name };
}

/** The placement of the new lab that the current call is about, as a field of its answer. */
export function ownPlacement(): { readonly placement?: PlacementFacts } {
  const placement = currentCall.getStore()?.placement;
  return placement === undefined ? {} : { placement };
}

/** The same as a line of a plan; empty for a lab that exists, and without a fleet. */
export function placementText(): string {
  const { placement } = ownPlacement();
  return placement === undefined ? "" : `\nMachine: ${placement.machine} (${placement.reasons.join("; ")})\n`;
}
