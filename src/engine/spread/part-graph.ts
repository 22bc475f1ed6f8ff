import type { SpreadLab } from "./partition.ts";

/** A lab as a graph of indexes: a vertex is a part, or all parts of a group. */
export interface PartGraph {
  /** The keys of each vertex. */
  readonly members: readonly (readonly string[])[];
  /** The memory of the new parts of each vertex, MiB: what runs already is not in the free room. */
  readonly weights: readonly number[];
  /** Index of the machine at which a vertex stays. */
  readonly fixed: readonly (number | undefined)[];
  /** The neighbours of each vertex, and the number of links to each. */
  readonly links: readonly ReadonlyMap<number, number>[];
  /** The free room of each machine, MiB. */
  readonly rooms: readonly number[];
  /** The numbers of the machines. */
  readonly numbers: readonly number[];
}

/** The index of the machine of each vertex. */
export type Places = number[];

/** Returns `refused`, for people, if there is no machine, or if parts of one group are on several machines. */
export function partGraph({ parts, links, machines }: SpreadLab): PartGraph | { readonly refused: string } {
  if (machines.length === 0) return { refused: "no machine of the fleet takes parts of it" };
  const vertices = new Map<string, { keys: string[]; weight: number; at: number | undefined }>();
  const names = new Map<string, string>();
  const numbers = machines.map(({ number }) => number);
  for (const { key, memory, at, group } of parts.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    const name = group === undefined ? `part ${key}` : `group ${group}`;
    const vertex = vertices.get(name) ?? { keys: [], weight: 0, at };
    vertices.set(name, vertex);
    if (at !== undefined && vertex.at !== undefined && vertex.at !== at)
      return { refused: `nodes of the group ${group} are on several machines already` };
    // A machine that takes nothing new keeps what it has.
    if (at !== undefined && !numbers.includes(at)) numbers.push(at);
    vertex.keys.push(key);
    vertex.at ??= at;
    if (at === undefined) vertex.weight += memory;
    names.set(key, name);
  }
  const order = new Map([...vertices.keys()].map((name, at) => [name, at]));
  const all = [...vertices.values()];
  const neighbours = all.map(() => new Map<number, number>());
  for (const [from, to] of links) {
    const [a, b] = [order.get(names.get(from) ?? ""), order.get(names.get(to) ?? "")];
    if (a === undefined || b === undefined || a === b) continue;
    neighbours[a]!.set(b, (neighbours[a]!.get(b) ?? 0) + 1);
    neighbours[b]!.set(a, (neighbours[b]!.get(a) ?? 0) + 1);
  }
  return {
    members: all.map(({ keys }) => keys),
    weights: all.map(({ weight }) => weight),
    fixed: all.map(({ at }) => (at === undefined ? undefined : numbers.indexOf(at))),
    links: neighbours,
    rooms: numbers.map((number) => machines.find((machine) => machine.number === number)?.room ?? 0),
    numbers,
  };
}

/** Returns the number of links between machines. */
export function cutOf({ links }: PartGraph, places: Places): number {
  let cut = 0;
  for (const [a, neighbours] of links.entries()) for (const [b, count] of neighbours) if (a < b && places[a] !== places[b]) cut += count;
  return cut;
}

/** Returns the share of the new memory that each machine should get, in proportion to its free room, MiB. */
export function targetsOf({ weights, rooms }: PartGraph): readonly number[] {
  const need = weights.reduce((sum, weight) => sum + weight, 0);
  const room = rooms.reduce((sum, one) => sum + one, 0);
  return rooms.map((one) => (room === 0 ? 0 : Math.min(one, (need * one) / room)));
}
