import { Failure } from "../../contract/errors.ts";
import type { Lab } from "../../intent/lab/lab.ts";
import { currentCall } from "../common/current-call.ts";
import { Elsewhere } from "../common/elsewhere.ts";
import type { MachineStore } from "../store/machines.ts";
import { choosePlace, imagesOf, memoryOf, notReported, type PlacedSince, type ReservedRoom } from "./choose-place.ts";

/** How long a lab that does not exist yet keeps its machine: from a plan until its deploy, ms. */
const keptMs = 15 * 60_000;

/** The next step for a user if no machine can take a lab. */
const hint = "change place in the lab's file, or let an admin make room: labwright machines list, uncordon and labels";

/** Chooses machines for new labs. */
export class Placements {
  #placed: readonly PlacedSince[] = [];

  /**
   * Throws Elsewhere if a new lab belongs on another machine, and host_error if no machine has room for it. A call that another machine passes on stays here.
   * @param isMade the call makes the lab, so that its memory counts at once. With plans, a user could make all machines look full.
   * @param reserved the room that a user has reserved, for a lab that needs this memory, bytes
   */
  async place(
    machines: MachineStore,
    path: string,
    lab: Pick<Lab, "nodes" | "place">,
    { isMade, reserved }: { readonly isMade: boolean; readonly reserved: (user: string, memory: number) => ReservedRoom },
  ): Promise<void> {
    const call = currentCall.getStore();
    if (machines.own === undefined || call === undefined || call.isForwarded) return;
    const rows = machines.list();
    const memory = memoryOf(lab);
    this.#placed = notReported(this.#placed, rows);
    const chosen = choosePlace(rows, memory, this.#placed, lab.place, imagesOf(lab), reserved(call.user, memory));
    if ("refused" in chosen)
      throw new Failure("host_error", `no machine of the fleet can take the lab: ${chosen.refused.join("; ")}`, {
        data: { host: chosen.refused.join("; "), hint },
      });
    const number = await machines.place(path, chosen.machine.number, keptMs);
    if (isMade) this.#placed = [...this.#placed, { machine: number, memory, at: Date.now() }];
    const machine = rows.find((row) => row.number === number) ?? chosen.machine;
    const reasons = machine === chosen.machine ? chosen.reasons : [`${machine.name} was chosen for this lab a short time ago`];
    const placement = { machine: machine.name, reasons: [...reasons] };
    if (number !== machines.own) throw new Elsewhere(number, path, placement);
    call.placement = placement;
  }
}
