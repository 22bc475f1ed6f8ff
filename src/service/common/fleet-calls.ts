import type { Readable } from "node:stream";
import type { DataOf } from "../../contract/operations.ts";
import type { SharedImage } from "../../hosts/host-images.ts";
import type { Caller } from "./call.ts";

/** Operations that list what a machine has. */
export type ListOfMachine = "listLabs" | "listCaptures";

/** A call of one machine to another, which no client can make. */
export interface MachineCall {
  readonly name: string;
  /** JSON. */
  readonly args: unknown;
}

export interface MachineAnswer {
  /** JSON. */
  readonly facts: unknown;
  /** Bytes after the facts. The caller reads or destroys the stream. */
  readonly body: Readable;
}

/** Calls to the other machines of the fleet. */
export interface FleetCalls {
  /** Returns why this machine cannot call another one that reports, with the next step; undefined: it can. */
  problem(machine: number): Promise<string | undefined>;
  /** Returns a token with which one machine may join within a time, ms. */
  createToken(lifetimeMs: number): Promise<{ readonly token: string; readonly expiresAt: number }>;
  /** Returns the list of another machine, with what the caller may see there. Throws machine_unreachable. */
  list<Id extends ListOfMachine>(machine: number, id: Id, caller: Caller, requestId: string): Promise<DataOf<Id>>;
  /** Calls another machine by its number. Throws its failure, machine_unreachable, and the signal's reason. */
  call(machine: number, call: MachineCall, signal: AbortSignal): Promise<MachineAnswer>;
  /** From now on, the reports of this machine contain these images. */
  reportImages(images: () => Promise<readonly SharedImage[]>): void;
}
