import { protocolProblem } from "../../contract/fleet-protocol.ts";
import type { Lab, LabPlacement } from "../../intent/lab/lab.ts";
import type { MachineRow } from "../store/machines.ts";

/** A machine that has reported nothing for this time does not answer, ms. */
export const silentAfterMs = 9_000;

/** Memory of a node that has no limit of its own, MiB: a shell with some daemons. */
const nodeMemory = 32;

/** A lab that was placed on a machine since the machine's last report: the report does not contain it. */
export interface PlacedSince {
  readonly machine: number;
  /** MiB. */
  readonly memory: number;
  /** ms since the epoch, by the clock of this service. */
  readonly at: number;
}

/** Returns the placements that the last reports of the machines do not contain. */
export function notReported(placed: readonly PlacedSince[], machines: readonly MachineRow[]): readonly PlacedSince[] {
  return placed.filter(({ machine, at }) => {
    const row = machines.find(({ number }) => number === machine);
    return row !== undefined && at > row.readAt - row.silentMs;
  });
}

/** The machine for a new lab, and the reasons, for people. */
export interface Placement {
  readonly machine: MachineRow;
  readonly reasons: readonly string[];
}

/** Returns the memory that the nodes of a lab will need, MiB. */
export function memoryOf({ nodes }: Pick<Lab, "nodes">): number {
  return nodes.reduce((sum, { ram }) => sum + (ram ?? nodeMemory), 0);
}

/**
 * Chooses the machine of a new lab: of the active ones that answer, are as the lab's place wants, and have enough memory, the one with the largest free share of its memory. Returns the
 * reasons for each refused machine if there is none.
 */
export function choosePlace(
  machines: readonly MachineRow[],
  memory: number,
  placed: readonly PlacedSince[],
  { machine: wanted, labels = {} }: LabPlacement = {},
): Placement | { readonly refused: readonly string[] } {
  const refused: string[] = [];
  const candidates = machines.flatMap((machine) => {
    const { name, state, silentMs, facts } = machine;
    const since = placed.filter((one) => one.machine === machine.number);
    const free = facts.availableMemory - since.reduce((sum, one) => sum + one.memory, 0);
    const refuse = (why: string) => {
      refused.push(`${name} ${why}`);
      return [];
    };
    if (wanted !== undefined && wanted !== name) return [];
    const missing = Object.entries(labels).filter(([key, value]) => machine.labels[key] !== value);
    if (missing.length > 0)
      return refuse(`lacks the ${missing.length === 1 ? "label" : "labels"} ${missing.map((pair) => pair.join("=")).join(", ")}`);
    if (state === "cordoned") return refuse("is cordoned");
    const problem = protocolProblem(machine);
    if (problem !== undefined) return refuse(`cannot be used: ${problem}`);
    if (silentMs > silentAfterMs) return refuse("does not answer");
    if (free < memory) return refuse(`has ${free} MiB free, and the lab needs ${memory}`);
    return [{ machine, free, share: free / facts.memory }];
  });
  if (wanted !== undefined && !machines.some(({ name }) => name === wanted)) refused.push(`there is no machine ${wanted}`);
  const [best] = candidates.sort((a, b) => b.share - a.share || (a.machine.name < b.machine.name ? -1 : 1));
  if (best === undefined) return { refused };
  const { machine, free, share } = best;
  const others = candidates.length - 1;
  const most = others === 0 ? "" : `, the largest share of ${candidates.length} machines`;
  return {
    machine,
    reasons: [`${machine.name} has ${free} of ${machine.facts.memory} MiB free (${Math.round(share * 100)} %)${most}`, ...refused],
  };
}
