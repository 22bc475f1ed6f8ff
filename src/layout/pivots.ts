export interface PivotLayout {
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Distance of neighbours in the drawing, px. */
  readonly step: number;
}

/** Maximum number of members whose hop counts are used. */
const maxPivots = 50;

/**
 * Unfolds a part along the two directions in which the hop counts from some of its members differ most ("pivot MDS"). The result has no twisted ring
 * and no folded mesh. `hops` are hop counts by member, from members spread over the part.
 */
export function pivotLayout(part: readonly number[], hops: readonly Uint16Array[], { x, y, step }: PivotLayout): void {
  const used = hops.filter((_from, turn) => turn % Math.ceil(hops.length / maxPivots) === 0);
  const rows = part.map((at) => used.map((from) => from[at]! ** 2));
  const rowMeans = rows.map(mean);
  const columnMeans = used.map((_way, column) => mean(rows.map((row) => row[column]!)));
  const all = mean(rowMeans);
  const centred = rows.map((row, at) => row.map((value, column) => -(value - rowMeans[at]! - columnMeans[column]! + all) / 2));
  const products = used.map((_one, i) => used.map((_other, j) => centred.reduce((sum, row) => sum + row[i]! * row[j]!, 0)));
  const first = direction(products, []);
  const second = direction(products, [first]);
  // Projections are between -1 and 1; they are scaled to about the size of the graph.
  const place = (along: readonly number[]) => centred.map((row) => row.reduce((sum, value, column) => sum + value * along[column]!, 0));
  const [xs, ys] = [place(first), place(second)];
  const size = Math.sqrt(mean(xs.map((value, at) => value ** 2 + ys[at]! ** 2))) || 1;
  const radius = Math.sqrt(mean(rows.map(mean))) / Math.SQRT2 || 1;
  part.forEach((at, turn) => {
    // A small offset: members with the same neighbours would otherwise stay at the same position.
    x[at] = ((xs[turn]! / size) * radius + Math.cos(turn * 2.399963) * 0.05) * step;
    y[at] = ((ys[turn]! / size) * radius + Math.sin(turn * 2.399963) * 0.05) * step;
  });
}

/** Returns the strongest direction that is orthogonal to those `before`, by power iteration. */
function direction(products: readonly (readonly number[])[], before: readonly (readonly number[])[]): readonly number[] {
  let along = products.map((_row, at) => Math.cos(at * 2.1 + before.length));
  for (let round = 0; round < 100; round++) {
    let next = products.map((row) => row.reduce((sum, value, at) => sum + value * along[at]!, 0));
    for (const other of before) {
      const shared = next.reduce((sum, value, at) => sum + value * other[at]!, 0);
      next = next.map((value, at) => value - shared * other[at]!);
    }
    const length = Math.hypot(...next);
    if (length === 0) return along.map(() => 0);
    along = next.map((value) => value / length);
  }
  return along;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
