import { Failure } from "../../contract/errors.ts";
import type { DataOf } from "../../contract/operations.ts";
import type { Call, Caller } from "../common/call.ts";
import type { ListOfMachine } from "../common/fleet-calls.ts";
import type { FleetPart, StorePart } from "../context/parts.ts";
import { runsLabs } from "../store/machines.ts";

/** The lists of the other machines, and the names of those that do not answer. */
interface Others<Id extends ListOfMachine> {
  readonly lists: readonly DataOf<Id>[];
  readonly unreachable?: readonly string[];
}

/** Asks the other machines of the fleet for their lists. A call that another machine passes on is about this machine alone. */
export async function ofOtherMachines<Id extends ListOfMachine>(
  { store, fleet }: FleetPart & StorePart,
  id: Id,
  caller: Caller,
  { requestId, isForwarded }: Pick<Call, "requestId" | "isForwarded">,
): Promise<Others<Id>> {
  const machines = store.shared?.machines;
  if (fleet === undefined || machines?.own === undefined || isForwarded === true) return { lists: [] };
  const unreachable: string[] = [];
  const lists = await Promise.all(
    machines
      .list()
      // Those without labs have nothing to list, and need not be reachable from here.
      .filter((row) => row.number !== machines.own && runsLabs(row))
      .map(async ({ number, name }) => {
        try {
          return await fleet.list(number, id, caller, requestId);
        } catch (error) {
          if (!(error instanceof Failure) || error.code !== "machine_unreachable") throw error;
          unreachable.push(name);
          return undefined;
        }
      }),
  );
  return { lists: lists.filter((list) => list !== undefined), ...(unreachable.length > 0 && { unreachable }) };
}
