import { pivotPlaces } from "./pivots.ts";

export interface Picture {
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Members that stay where they are. */
  readonly fixed: readonly boolean[];
  /** How far apart neighbours are drawn. */
  readonly step: number;
}

/** Up to so many members every pair has its say; of more, each member and so many chosen ones. */
const most = 600;
const pivots = 120;
const rounds = 30;

/**
 * Spreads a part so that the distance of two members in the picture is that of their shortest way in the graph ("stress", by stochastic descent):
 * rings become rings and meshes meshes. Costs members × min(members, 600) × 30.
 */
export function spread(part: readonly number[], neighbours: readonly (readonly number[])[], picture: Picture): void {
  const { x, y, fixed, step } = picture;
  const chosen = part.length <= most ? part : part.filter((_at, turn) => turn % Math.ceil(part.length / pivots) === 0);
  const ways = chosen.map((from) => waysFrom(from, part, neighbours));
  begin(part, neighbours, ways, picture);

  const [a, b, far] = pairsOf(part, chosen, ways, neighbours);
  const order = Uint32Array.from(a.keys());
  const random = randomOf(part.length);
  let longest = 1;
  for (const each of far) longest = Math.max(longest, each);
  // From steps that reach everywhere to such as only mend: weights are 1/distance².
  const first = longest * longest;
  const decay = Math.log(first / 0.1) / (rounds - 1);
  for (let round = 0; round < rounds; round++) {
    const eta = first * Math.exp(-decay * round);
    shuffle(order, random);
    for (const turn of order) {
      const i = a[turn]!;
      const j = b[turn]!;
      const wanted = far[turn]!;
      const ex = x[i]! - x[j]!;
      const ey = y[i]! - y[j]!;
      const length = Math.sqrt(ex * ex + ey * ey) || 1e-3;
      const half = (Math.min(1, eta / (wanted * wanted)) * (length - wanted * step)) / length / 2;
      const give = fixed[i] ? 0 : fixed[j] ? 2 * half : half;
      const take = fixed[j] ? 0 : fixed[i] ? 2 * half : half;
      x[i]! -= ex * give;
      y[i]! -= ey * give;
      x[j]! += ex * take;
      y[j]! += ey * take;
    }
  }
  separate(part, picture);
}

/** Moves members that touch apart, as little as it takes. */
export function separate(part: readonly number[], { x, y, fixed, step }: Picture): void {
  const reach = step * 0.65;
  for (let round = 0; round < 40; round++) {
    let moved = false;
    const cells = new Map<number, number[]>();
    // Cells far out may share a number: then a few are compared in vain.
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
            // On the very same place: apart in some direction, always the same.
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

/** Hops from one member to each of the part, by member. */
function waysFrom(from: number, part: readonly number[], neighbours: readonly (readonly number[])[]): Uint16Array {
  const far = new Uint16Array(neighbours.length);
  const queue = new Uint32Array(part.length);
  queue[0] = from;
  far[from] = 1;
  for (let next = 0, end = 1; next < end; next++) {
    const at = queue[next]!;
    for (const other of neighbours[at]!) {
      if (far[other] !== 0) continue;
      far[other] = far[at]! + 1;
      queue[end++] = other;
    }
  }
  for (const at of part) far[at]! -= 1;
  return far;
}

/** Where the descent begins: unfolded already where nothing is fixed, else near the nearest that is. */
function begin(
  part: readonly number[],
  neighbours: readonly (readonly number[])[],
  ways: readonly Uint16Array[],
  { x, y, fixed, step }: Picture,
): void {
  if (!part.some((at) => fixed[at])) {
    pivotPlaces(part, ways, { x, y, step });
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

/** Who pulls whom, and how many hops apart they should be. */
function pairsOf(
  part: readonly number[],
  chosen: readonly number[],
  ways: readonly Uint16Array[],
  neighbours: readonly (readonly number[])[],
): readonly [Uint32Array, Uint32Array, Uint16Array] {
  const all = chosen.length === part.length;
  const a: number[] = [];
  const b: number[] = [];
  const far: number[] = [];
  chosen.forEach((from, turn) => {
    for (const to of part) {
      if (all ? to <= from : to === from) continue;
      a.push(from);
      b.push(to);
      far.push(ways[turn]![to]!);
    }
  });
  if (!all) {
    for (const from of part) {
      for (const to of neighbours[from]!) {
        if (to <= from) continue;
        a.push(from);
        b.push(to);
        far.push(1);
      }
    }
  }
  return [Uint32Array.from(a), Uint32Array.from(b), Uint16Array.from(far)];
}

/** The same numbers each time, from 0 to below 1. */
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
