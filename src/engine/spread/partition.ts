import { growParts } from "./grow.ts";
import { cutOf, type PartGraph, type Places, partGraph } from "./part-graph.ts";
import { refineParts } from "./refine.ts";

/** A node or a network of a lab that is spread over machines. */
export interface SpreadPart {
  readonly key: string;
  /** MiB; 0 for a network. */
  readonly memory: number;
  /** Number of the machine that has it already: it stays there. */
  readonly at?: number;
  /** Parts of one group are at one machine. */
  readonly group?: string;
}

export interface SpreadMachine {
  readonly number: number;
  readonly name: string;
  /** MiB that new nodes may use. */
  readonly room: number;
}

export interface SpreadLab {
  /** Nodes and networks. Keys are unique. */
  readonly parts: readonly SpreadPart[];
  /** The ends of the links, as keys. */
  readonly links: readonly (readonly [string, string])[];
  /** The machines that may get new parts. The first one wins a tie. */
  readonly machines: readonly SpreadMachine[];
}

/**
 * Returns the machine of each part, by key: few links between machines, and memory in proportion to the machines' free room. Parts that are on a machine stay
 * there. The same input has the same result.
 * @returns `refused`: why the lab does not fit, for people
 */
export function spreadParts(lab: SpreadLab): { readonly places: ReadonlyMap<string, number> } | { readonly refused: string } {
  const graph = partGraph(lab);
  if ("refused" in graph) return graph;
  const found = Array.from({ length: seedCount }, (_, seed) => {
    const places = growParts(graph, seed / seedCount);
    refineParts(graph, places);
    return { places, excess: excessOf(graph, places), cut: cutOf(graph, places) };
  });
  const [best] = found.toSorted((a, b) => a.excess - b.excess || a.cut - b.cut);
  const { places, excess } = best!;
  if (excess > 0) return { refused: overfull(graph, lab.machines) };
  const pairs = graph.members.flatMap((keys, at) => keys.map((key) => [key, graph.numbers[places[at]!]!] as const));
  return { places: new Map(pairs.sort(([a], [b]) => (a < b ? -1 : 1))) };
}

/** The greedy growth begins at this many different places of the lab; the smallest cut wins. */
const seedCount = 4;

/** Returns the memory that does not fit, MiB. */
function excessOf({ weights, rooms }: PartGraph, places: Places): number {
  const loads = rooms.map(() => 0);
  for (const [at, place] of places.entries()) loads[place] = loads[place]! + weights[at]!;
  return loads.reduce((sum, load, at) => sum + Math.max(0, load - rooms[at]!), 0);
}

function overfull({ weights }: PartGraph, machines: readonly SpreadMachine[]): string {
  const free = machines.map(({ name, room }) => `${name} has ${room} MiB free`).join(", ");
  return `its new nodes need ${weights.reduce((sum, weight) => sum + weight, 0)} MiB and do not fit: ${free}`;
}
