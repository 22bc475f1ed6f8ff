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

/** How long a machine that could be called, or could not, is taken to be as it was, ms: that of a report. */
const reachedMs = 3_000;

/** Chooses machines for new labs. */
export class Placements {
  #placed: readonly PlacedSince[] = [];
  readonly #problemOf: (machine: number) => Promise<string | undefined>;
  /** By the number of the machine. */
  readonly #reached = new Map<number, { readonly at: number; readonly problem: string | undefined }>();

  /** @param problemOf returns why this machine cannot call another one. A machine that reports to the database may be behind a firewall. */
  constructor(problemOf: (machine: number) => Promise<string | undefined> = async () => undefined) {
    this.#problemOf = problemOf;
  }

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
    const unreachable = new Map<string, string>();
    // A spread lab needs its memory on all machines together.
    const limits = { ...reserved(call.user, lab.place?.spread === undefined ? memory : 0), unreachable };
    const choose = (among = rows) => choosePlace(among, memory, this.#placed, lab.place, imagesOf(lab), limits);
    let chosen = choose();
    while (!("refused" in chosen)) {
      const problem = await this.#problem(machines, chosen.machine.number);
      if (problem === undefined) break;
      unreachable.set(chosen.machine.name, problem);
      chosen = choose();
    }
    if ("refused" in chosen)
      throw new Failure("host_error", `no machine of the fleet can take the lab: ${chosen.refused.join("; ")}`, {
        data: { host: chosen.refused.join("; "), hint },
      });
    let number = await machines.place(path, chosen.machine.number, keptMs);
    // The text may name another place now, and the machine may be cordoned, full or away.
    const takes = async (kept: number) =>
      !("refused" in choose(rows.filter((row) => row.number === kept))) && (await this.#problem(machines, kept)) === undefined;
    if (number !== chosen.machine.number && !(await takes(number))) number = await machines.place(path, chosen.machine.number, 0);
    if (isMade) this.#placed = [...this.#placed, { machine: number, memory, at: Date.now() }];
    const machine = rows.find((row) => row.number === number) ?? chosen.machine;
    const reasons = machine === chosen.machine ? chosen.reasons : [`${machine.name} was chosen for this lab a short time ago`];
    const placement = { machine: machine.name, reasons: [...reasons] };
    if (number !== machines.own) throw new Elsewhere(number, path, placement);
    call.placement = placement;
  }

  async #problem({ own }: Pick<MachineStore, "own">, machine: number): Promise<string | undefined> {
    if (machine === own) return undefined;
    const known = this.#reached.get(machine);
    const now = performance.now();
    if (known !== undefined && now - known.at < reachedMs) return known.problem;
    const problem = await this.#problemOf(machine);
    this.#reached.set(machine, { at: now, problem });
    return problem;
  }
}
