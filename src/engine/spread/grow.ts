import { type PartGraph, type Places, targetsOf } from "./part-graph.ts";

const unplaced = -1;

/**
 * Places all vertices: each machine in turn grows from what it has by the vertex with the most links to it and the fewest to vertices without a place, until it
 * has its share of the memory. The last machine gets the rest.
 * @param seed where the first machine begins, from 0 to below 1
 */
export function growParts(graph: PartGraph, seed: number): Places {
  const { weights, fixed, rooms } = graph;
  const places = weights.map((_weight, at) => fixed[at] ?? unplaced);
  const targets = targetsOf(graph);
  const order = rooms.map((_room, at) => at).sort((a, b) => targets[b]! - targets[a]! || a - b);
  for (const machine of order.slice(0, -1)) growOne(graph, places, { machine, target: targets[machine]!, seed });
  const last = order.at(-1) ?? 0;
  return places.map((place) => (place === unplaced ? last : place));
}

/** Grows the part of one machine until it has its share, or no vertex fits any more. */
function growOne(
  { weights, links }: PartGraph,
  places: Places,
  { machine, target, seed }: { readonly machine: number; readonly target: number; readonly seed: number },
): void {
  const free = new Set(places.flatMap((place, at) => (place === unplaced ? [at] : [])));
  const gains = new Map<number, number>();
  const join = (at: number) => {
    for (const [near, count] of links[at]!)
      if (free.has(near)) gains.set(near, (gains.get(near) ?? -degree(links[near]!, free)) + 2 * count);
  };
  for (const [at, place] of places.entries()) if (place === machine) join(at);
  let load = 0;
  while (free.size > 0 && load < target) {
    const next = largest(gains) ?? edgeOf(links, free, places, seed);
    gains.delete(next);
    free.delete(next);
    // Most of it would be beyond the share: it is for another machine.
    if (load + weights[next]! / 2 > target && load > 0) continue;
    places[next] = machine;
    load += weights[next]!;
    join(next);
  }
}

/** Returns the number of links to vertices without a place. */
function degree(links: ReadonlyMap<number, number>, free: ReadonlySet<number>): number {
  let sum = 0;
  for (const [near, count] of links) if (free.has(near)) sum += count;
  return sum;
}

function largest(gains: ReadonlyMap<number, number>): number | undefined {
  let best: readonly [number, number] | undefined;
  for (const [at, gain] of gains) if (best === undefined || gain > best[1] || (gain === best[1] && at < best[0])) best = [at, gain];
  return best?.[0];
}

/**
 * Returns the vertex without a place from which a part grows. With vertices that have a place, the nearest to them or, for a seed from 0.5 on, the farthest: the
 * nearest leaves the rest in one piece. Without any, the farthest from a vertex that the seed chooses.
 */
function edgeOf(links: PartGraph["links"], free: ReadonlySet<number>, places: Places, seed: number): number {
  const all = [...free].sort((a, b) => a - b);
  const placed = places.flatMap((place, at) => (place === unplaced ? [] : [at]));
  const seen = new Set(placed.length > 0 ? placed : [all[Math.floor(all.length * seed)]!]);
  let last = all[0]!;
  for (const at of seen) {
    if (free.has(at)) last = at;
    if (free.has(at) && placed.length > 0 && seed < 0.5) return at;
    for (const near of [...links[at]!.keys()].sort((a, b) => a - b)) seen.add(near);
  }
  return last;
}
