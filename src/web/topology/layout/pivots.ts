export interface PivotPlan {
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** How far apart neighbours are drawn. */
  readonly step: number;
}

/** Of these members' hops the picture is made, at most. */
const most = 50;

/**
 * Unfolds a part by the two directions in which the hops from some of its members differ most ("pivot MDS"): no ring is twisted, no mesh folded.
 * `ways` are hops by member, from members spread over the part.
 */
export function pivotPlaces(part: readonly number[], ways: readonly Uint16Array[], { x, y, step }: PivotPlan): void {
  const used = ways.filter((_way, turn) => turn % Math.ceil(ways.length / most) === 0);
  const rows = part.map((at) => used.map((way) => way[at]! ** 2));
  const rowMeans = rows.map(mean);
  const columnMeans = used.map((_way, column) => mean(rows.map((row) => row[column]!)));
  const all = mean(rowMeans);
  const centred = rows.map((row, at) => row.map((value, column) => -(value - rowMeans[at]! - columnMeans[column]! + all) / 2));
  const products = used.map((_one, i) => used.map((_other, j) => centred.reduce((sum, row) => sum + row[i]! * row[j]!, 0)));
  const first = direction(products, []);
  const second = direction(products, [first]);
  // Numbers between ±1 where a member is; brought to a size near that of the graph.
  const place = (along: readonly number[]) => centred.map((row) => row.reduce((sum, value, column) => sum + value * along[column]!, 0));
  const [xs, ys] = [place(first), place(second)];
  const size = Math.sqrt(mean(xs.map((value, at) => value ** 2 + ys[at]! ** 2))) || 1;
  const hops = Math.sqrt(mean(rows.map(mean))) / Math.SQRT2 || 1;
  part.forEach((at, turn) => {
    // A little beside each other: members with the same neighbours would never part.
    x[at] = ((xs[turn]! / size) * hops + Math.cos(turn * 2.399963) * 0.05) * step;
    y[at] = ((ys[turn]! / size) * hops + Math.sin(turn * 2.399963) * 0.05) * step;
  });
}

/** The strongest direction that is across those `before`, by repeated multiplication. */
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
