import { protocolProblem } from "../../contract/fleet-protocol.ts";
import type { Lab, LabPlacement } from "../../intent/lab/lab.ts";
import { type MachineRow, runsLabs, silentAfterMs } from "../store/machines.ts";

/** Memory of a node that has no limit of its own, MiB: a shell with some daemons. */
export const nodeMemory = 32;

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

/** A machine with the images of a lab is taken instead of another one, unless that has more than this many times its free share of memory. */
const imagesWorth = 2;

/** Returns the names of the images that the nodes of a lab name. */
export function imagesOf({ nodes }: Pick<Lab, "nodes">): readonly string[] {
  return [...new Set(nodes.flatMap(({ image }) => (image === undefined ? [] : [image])))].sort();
}

/** Reservations, by the names of machines. */
export interface ReservedRoom {
  /** Why the lab would take the room of other users there. */
  readonly full?: ReadonlyMap<string, string>;
  /** The machines on which the lab's owner has reserved room now. */
  readonly own?: ReadonlySet<string>;
}

/** Other reasons that keep a lab away from machines, by their names. */
export interface PlaceLimits extends ReservedRoom {
  /** Why this machine cannot call another one, which reports to the database. */
  readonly unreachable?: ReadonlyMap<string, string>;
}

/** Returns the memory that the nodes of a lab will need, MiB. */
export function memoryOf({ nodes }: Pick<Lab, "nodes">): number {
  return nodes.reduce((sum, { ram }) => sum + (ram ?? nodeMemory), 0);
}

/**
 * Chooses the machine of a new lab: of the active ones that answer, are as the lab's place wants, and have enough memory, the one with the largest free share of its memory. One that lacks
 * images which another machine has is taken only for much more memory. Returns the reasons for each refused machine if there is none.
 * @param images names of the images that the lab names
 */
export function choosePlace(
  machines: readonly MachineRow[],
  memory: number,
  placed: readonly PlacedSince[],
  { machine: wanted, labels = {}, spread }: LabPlacement = {},
  images: readonly string[] = [],
  { full = new Map(), own = new Set(), unreachable = new Map() }: PlaceLimits = {},
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
    if (!runsLabs(machine)) return refuse("runs no labs (--host none)");
    if (state === "cordoned") return refuse("is cordoned");
    const problem = protocolProblem(machine);
    if (problem !== undefined) return refuse(`cannot be used: ${problem}`);
    if (silentMs > silentAfterMs) return refuse("does not answer");
    const away = unreachable.get(name);
    if (away !== undefined) return refuse(`cannot be called: ${away}`);
    // A spread lab needs its memory on all machines together.
    if (free < memory && spread === undefined) return refuse(`has ${free} MiB free, and the lab needs ${memory}`);
    const reserved = full.get(name);
    if (reserved !== undefined) return refuse(`has reserved room (${reserved})`);
    return [{ machine, free, share: free / facts.memory, isReserved: own.has(name) }];
  });
  if (wanted !== undefined && !machines.some(({ name }) => name === wanted)) refused.push(`there is no machine ${wanted}`);
  const byShare = (a: { readonly share: number; readonly machine: MachineRow }, b: typeof a) =>
    b.share - a.share || (a.machine.name < b.machine.name ? -1 : 1);
  const reservedOnes = candidates.filter(({ isReserved }) => isReserved);
  const [most, ...less] = (reservedOnes.length > 0 ? reservedOnes : candidates).toSorted(byShare);
  if (most === undefined) return { refused };
  const lacking = (machine: MachineRow) => lackingImages(images, machine, machines);
  const near = [most, ...less.filter(({ share }) => share * imagesWorth >= most.share)];
  const best = near.toSorted((a, b) => lacking(a.machine).length - lacking(b.machine).length || byShare(a, b))[0]!;
  const { machine, free, share, isReserved } = best;
  const largest = candidates.length === 1 || best !== most ? "" : `, the largest share of ${candidates.length} machines`;
  const compared = isReserved ? ", and room is reserved for you there" : largest;
  return {
    machine,
    reasons: [
      `${machine.name} has ${free} of ${machine.facts.memory} MiB free (${Math.round(share * 100)} %)${compared}`,
      ...imageReasons(machine, { lacking, others: candidates.filter((one) => one !== best) }),
      ...refused,
    ],
  };
}

/** Returns the images that a machine lacks and another one has: those that no machine reports come from a registry, or from `labwright setup`. */
function lackingImages(images: readonly string[], { facts }: MachineRow, machines: readonly MachineRow[]): readonly string[] {
  const has = ({ images: there = [] }: MachineRow["facts"], image: string) => there.some(({ name }) => name === image);
  return images.filter((image) => !has(facts, image) && machines.some((other) => has(other.facts, image)));
}

function imageReasons(
  machine: MachineRow,
  about: {
    readonly lacking: (machine: MachineRow) => readonly string[];
    readonly others: readonly { readonly machine: MachineRow }[];
  },
): readonly string[] {
  const missing = about.lacking(machine);
  if (missing.length > 0) return [`${machine.name} lacks ${listed(missing)}, which another machine has`];
  const without = about.others.map((other) => about.lacking(other.machine));
  const [fewest] = without.filter((names) => names.length > 0).toSorted((a, b) => a.length - b.length);
  return fewest === undefined ? [] : [`${machine.name} has ${listed(fewest)}, which other machines lack`];
}

function listed(images: readonly string[]): string {
  return `the ${images.length === 1 ? "image" : "images"} ${images.join(", ")}`;
}
