import { pivotLayout } from "./pivots.ts";

export interface Picture {
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Whether each member keeps its position. */
  readonly fixed: readonly boolean[];
  /** Distance of neighbours in the drawing, px. */
  readonly step: number;
}

/** Parts up to this size use all pairs of members. Larger parts pair each member with `pivots` chosen members. */
const maxAllPairs = 600;
const pivots = 120;
const rounds = 30;

/**
 * Spreads a part so that distances in the drawing match the shortest paths in the graph (stress minimisation by stochastic descent): rings stay rings,
 * and meshes stay meshes. Costs members × min(members, 600) × 30.
 */
export function spread(part: readonly number[], neighbours: readonly (readonly number[])[], picture: Picture): void {
  const { x, y, fixed, step } = picture;
  const chosen = part.length <= maxAllPairs ? part : part.filter((_at, turn) => turn % Math.ceil(part.length / pivots) === 0);
  const hops = chosen.map((from) => hopsFrom(from, part, neighbours));
  initialise(part, neighbours, hops, picture);

  const [a, b, distances] = pairsOf(part, chosen, hops, neighbours);
  const order = Uint32Array.from(a.keys());
  const random = randomOf(part.length);
  let maxDistance = 1;
  for (const distance of distances) maxDistance = Math.max(maxDistance, distance);
  // The steps become smaller, from the whole drawing down to corrections. Weights are 1/distance².
  const first = maxDistance * maxDistance;
  const decay = Math.log(first / 0.1) / (rounds - 1);
  for (let round = 0; round < rounds; round++) {
    const eta = first * Math.exp(-decay * round);
    shuffle(order, random);
    for (const turn of order) {
      const i = a[turn]!;
      const j = b[turn]!;
      const wanted = distances[turn]!;
      const ex = x[i]! - x[j]!;
      const ey = y[i]! - y[j]!;
      const length = Math.sqrt(ex * ex + ey * ey) || 1e-3;
      const half = (Math.min(1, eta / (wanted * wanted)) * (length - wanted * step)) / length / 2;
      const moveI = fixed[i] ? 0 : fixed[j] ? 2 * half : half;
      const moveJ = fixed[j] ? 0 : fixed[i] ? 2 * half : half;
      x[i]! -= ex * moveI;
      y[i]! -= ey * moveI;
      x[j]! += ex * moveJ;
      y[j]! += ey * moveJ;
    }
  }
  separate(part, picture);
}

/** Moves overlapping members apart, as little as needed. */
export function separate(part: readonly number[], { x, y, fixed, step }: Picture): void {
  const reach = step * 0.65;
  for (let round = 0; round < 40; round++) {
    let moved = false;
    const cells = new Map<number, number[]>();
    // Two distant cells may get the same number, which only costs a few needless comparisons.
    const cellOf = (column: number, row: number) => column * 65_537 + row;
    for (const at of part) {
      const cell = cellOf(Math.floor(x[at]! / reach), Math.floor(y[at]! / reach));
      const there = cells.get(cell);
      if (there === undefined) cells.set(cell, [at]);
      else there.push(at);
    }
    for (const at of part) {
      const column = Math.floor(x[at]! / reach);
      const row = Math.floor(y[at]! / reach);
      for (let i = -1; i <= 1; i++) {
        for (let j = -1; j <= 1; j++) {
          for (const other of cells.get(cellOf(column + i, row + j)) ?? []) {
            if (other <= at || (fixed[at] && fixed[other])) continue;
            let ex = x[other]! - x[at]!;
            let ey = y[other]! - y[at]!;
            // At the same position: the direction is arbitrary but deterministic.
            if (ex === 0 && ey === 0) [ex, ey] = [Math.cos(other), Math.sin(other)];
            const length = Math.sqrt(ex * ex + ey * ey);
            if (length >= reach * 0.999) continue;
            const push = (reach - length) / length / (fixed[at] || fixed[other] ? 1 : 2);
            if (!fixed[at]) {
              x[at]! -= ex * push;
              y[at]! -= ey * push;
            }
            if (!fixed[other]) {
              x[other]! += ex * push;
              y[other]! += ey * push;
            }
            moved = true;
          }
        }
      }
    }
    if (!moved) return;
  }
}

/** Returns the hop count from one member to each member of the part. */
function hopsFrom(from: number, part: readonly number[], neighbours: readonly (readonly number[])[]): Uint16Array {
  const hops = new Uint16Array(neighbours.length);
  const queue = new Uint32Array(part.length);
  queue[0] = from;
  hops[from] = 1;
  for (let next = 0, end = 1; next < end; next++) {
    const at = queue[next]!;
    for (const other of neighbours[at]!) {
      if (hops[other] !== 0) continue;
      hops[other] = hops[at]! + 1;
      queue[end++] = other;
    }
  }
  for (const at of part) hops[at]! -= 1;
  return hops;
}

/** Sets the initial positions: unfolded if no member is fixed, otherwise near the nearest fixed member. */
function initialise(
  part: readonly number[],
  neighbours: readonly (readonly number[])[],
  hops: readonly Uint16Array[],
  { x, y, fixed, step }: Picture,
): void {
  if (!part.some((at) => fixed[at])) {
    pivotLayout(part, hops, { x, y, step });
    return;
  }
  const queue = part.filter((at) => fixed[at]);
  const known = new Set(queue);
  for (let next = 0; next < queue.length; next++) {
    const at = queue[next]!;
    neighbours[at]!.forEach((other, turn) => {
      if (known.has(other)) return;
      known.add(other);
      queue.push(other);
      const angle = turn * 2.399963 + other;
      x[other] = x[at]! + step * Math.cos(angle);
      y[other] = y[at]! + step * Math.sin(angle);
    });
  }
}

/** Returns the pairs of members whose distance is adjusted, and their distance in hops. */
function pairsOf(
  part: readonly number[],
  chosen: readonly number[],
  hops: readonly Uint16Array[],
  neighbours: readonly (readonly number[])[],
): readonly [Uint32Array, Uint32Array, Uint16Array] {
  const all = chosen.length === part.length;
  const a: number[] = [];
  const b: number[] = [];
  const distances: number[] = [];
  chosen.forEach((from, turn) => {
    for (const to of part) {
      if (all ? to <= from : to === from) continue;
      a.push(from);
      b.push(to);
      distances.push(hops[turn]![to]!);
    }
  });
  if (!all) {
    for (const from of part) {
      for (const to of neighbours[from]!) {
        if (to <= from) continue;
        a.push(from);
        b.push(to);
        distances.push(1);
      }
    }
  }
  return [Uint32Array.from(a), Uint32Array.from(b), Uint16Array.from(distances)];
}

/** Returns a deterministic generator of numbers from 0 to below 1. */
function randomOf(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function shuffle(order: Uint32Array, random: () => number): void {
  for (let end = order.length - 1; end > 0; end--) {
    const other = Math.floor(random() * (end + 1));
    const kept = order[end]!;
    order[end] = order[other]!;
    order[other] = kept;
  }
}
