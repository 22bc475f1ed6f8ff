import type { DataOf } from "../../contract/operations.ts";
import type { Caller } from "./call.ts";

/** Operations that list what a machine has. */
export type ListOfMachine = "listLabs" | "listCaptures";

/** Calls to the other machines of the fleet. */
export interface FleetCalls {
  /** Returns why this machine cannot call another one that reports, with the next step; undefined: it can. */
  problem(machine: number): Promise<string | undefined>;
  /** Returns a token with which one machine may join within a time, ms. */
  createToken(lifetimeMs: number): Promise<{ readonly token: string; readonly expiresAt: number }>;
  /** Returns the list of another machine, with what the caller may see there. Throws machine_unreachable. */
  list<Id extends ListOfMachine>(machine: number, id: Id, caller: Caller, requestId: string): Promise<DataOf<Id>>;
}
