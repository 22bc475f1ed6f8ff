/** The positions that are written, indexed by member. */
export interface TreeLayout {
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Distance of neighbours in the drawing, px. */
  readonly step: number;
}

/**
 * Draws a tree around its middle. Each branch gets a wedge whose angle is proportional to its leaves, so that no two links cross. The rings are wide
 * enough that leaves do not overlap.
 */
export function radialTree(part: readonly number[], neighbours: readonly (readonly number[])[], { x, y, step }: TreeLayout): void {
  const root = middleOf(part, neighbours);
  const order = [root];
  const parent = new Map<number, number>([[root, -1]]);
  const depth = new Map<number, number>([[root, 0]]);
  for (let next = 0; next < order.length; next++) {
    const at = order[next]!;
    for (const child of neighbours[at]!) {
      if (child === parent.get(at)) continue;
      parent.set(child, at);
      depth.set(child, depth.get(at)! + 1);
      order.push(child);
    }
  }
  const leaves = new Map<number, number>();
  for (const at of order.toReversed()) {
    const own = leaves.get(at) ?? 1;
    leaves.set(at, own);
    const up = parent.get(at)!;
    if (up >= 0) leaves.set(up, (leaves.get(up) ?? 0) + own);
  }
  const from = new Map<number, number>([[root, 0]]);
  const wide = new Map<number, number>([[root, 2 * Math.PI]]);
  for (const at of order) {
    let begin = from.get(at)!;
    for (const child of neighbours[at]!) {
      if (child === parent.get(at)) continue;
      const share = (wide.get(at)! * leaves.get(child)!) / leaves.get(at)!;
      from.set(child, begin);
      wide.set(child, share);
      begin += share;
    }
  }
  const ring = Math.max(step, ...order.slice(1).map((at) => (step * 0.7) / Math.min(wide.get(at)!, Math.PI / 2) / depth.get(at)!));
  // The first branch points to the right, so that two branches form a horizontal line.
  const turn = -(wide.get(order[1] ?? root)! / 2);
  for (const at of order) {
    const angle = from.get(at)! + wide.get(at)! / 2 + turn;
    const distance = depth.get(at)! * ring;
    x[at] = distance * Math.cos(angle);
    y[at] = distance * Math.sin(angle);
  }
}

/** Returns the middle of the longest path, so that the branches are as short as possible. Of two middles, the first one found. */
function middleOf(part: readonly number[], neighbours: readonly (readonly number[])[]): number {
  const degree = new Map(part.map((at) => [at, neighbours[at]!.length]));
  let ring = part.filter((at) => degree.get(at)! <= 1);
  let left = part.length;
  const removed = new Set<number>();
  while (left > 2) {
    left -= ring.length;
    const next: number[] = [];
    for (const at of ring) {
      removed.add(at);
      for (const other of neighbours[at]!) {
        if (removed.has(other)) continue;
        degree.set(other, degree.get(other)! - 1);
        if (degree.get(other) === 1) next.push(other);
      }
    }
    ring = next;
  }
  return part.find((at) => !removed.has(at))!;
}
