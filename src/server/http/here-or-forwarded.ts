import type { FastifyReply, FastifyRequest } from "fastify";
import { Failure } from "../../contract/errors.ts";
import type { Elsewhere } from "../../service/common/elsewhere.ts";
import type { MachineRow, MachineStore } from "../../service/store/machines.ts";
import { type Forwarded, forwardedOf, notOwnerHeader } from "../forwarding/forwarded.ts";
import { stateOf } from "../requests/request-state.ts";

/** The other machines of the fleet. */
export interface FleetRoutes {
  readonly machines: Pick<MachineStore, "list" | "forgetOwner">;
  readonly forwarder: {
    /**
     * Passes a call on, and its answer back. Returns false, with nothing sent, if the other machine does not own the lab any more. Throws machine_unreachable.
     * @param body the checked body of the request; undefined: it has none
     */
    forward(machine: MachineRow, request: FastifyRequest, reply: FastifyReply, forwarded: Forwarded, body: unknown): Promise<boolean>;
  };
}

/**
 * Returns the result of a call; undefined if another machine of the fleet has answered it. Ownership may change between a look at it and the call, so that
 * the owner is looked up twice.
 */
export async function hereOrForwarded<T>(
  fleet: FleetRoutes | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
  run: () => Promise<T>,
): Promise<{ readonly result: T } | undefined> {
  for (let tries = 1; ; tries += 1) {
    try {
      return { result: await run() };
    } catch (error) {
      if (!isElsewhere(error) || fleet === undefined) throw error;
      const machine = fleet.machines.list().find(({ number }) => number === error.machine);
      const isForwarded = forwardedOf(request.raw) !== undefined;
      if (isForwarded) reply.header(notOwnerHeader, "1");
      if (isForwarded || machine === undefined || tries > 2)
        throw new Failure("lab_elsewhere", "the lab has just moved to another machine: try again", { data: { lab: error.lab ?? "" } });
      const { caller = null } = stateOf(request);
      const forwarded = {
        caller,
        requestId: request.id,
        address: request.socket.remoteAddress ?? "",
        ...(error.placement && { placement: error.placement }),
      };
      if (await fleet.forwarder.forward(machine, request, reply, forwarded, request.body ?? undefined)) return undefined;
      if (error.lab !== undefined) fleet.machines.forgetOwner(error.lab);
    }
  }
}

function isElsewhere(error: unknown): error is Elsewhere {
  return error instanceof Error && error.name === ("Elsewhere" satisfies Elsewhere["name"]);
}
