import type { Tiers } from "./tiers.ts";

/** The positions that are written, indexed by member. */
export interface TieredPicture {
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** Distance of neighbours in the drawing, px. */
  readonly step: number;
  /** The width that each member needs, px. */
  readonly widths: readonly number[];
}

/** Wide windows are the usual ones: a drawing of this shape, width by height, is shown largest. */
const wantedShape = 1.8;
const sweeps = 12;

type Neighbours = readonly (readonly number[])[];

/** Draws tiers as rows, the highest on top, in an order with few crossing links. End nodes form a block below their neighbour. */
export function drawTiers(tiers: Tiers, neighbours: Neighbours, picture: TieredPicture): void {
  const rows = ordered(tiers, neighbours);
  const mostEnds = Math.max(0, ...[...tiers.ends.values()].map((ends) => ends.length));
  let best = placed(rows, tiers, neighbours, { ...picture, columns: Math.max(1, mostEnds) });
  for (let columns = mostEnds - 1; columns >= 1; columns--) {
    const next = placed(rows, tiers, neighbours, { ...picture, columns });
    if (misfit(next) < misfit(best)) best = next;
  }
  for (const [at, { x, y }] of best.places) {
    picture.x[at] = x;
    picture.y[at] = y;
  }
}

interface Placement {
  readonly places: ReadonlyMap<number, { readonly x: number; readonly y: number }>;
  readonly width: number;
  readonly height: number;
}

function misfit({ width, height }: Placement): number {
  return Math.abs(Math.log(width / height / wantedShape));
}

interface PlacedOptions extends TieredPicture {
  /** Maximum number of end nodes side by side. */
  readonly columns: number;
}

/** Places the widest row first, and then each further row above or below the middle of its neighbours, if there is room. */
function placed(rows: readonly (readonly number[])[], { ends }: Tiers, neighbours: Neighbours, options: PlacedOptions): Placement {
  const { step } = options;
  const places = new Map<number, { x: number; y: number }>();
  const blocks = new Map(rows.flat().map((at) => [at, blockFor(at, ends.get(at) ?? [], options)]));
  const widthOf = (row: readonly number[]) => row.reduce((sum, at) => sum + blocks.get(at)!.width, 0);
  const widest = Math.max(...rows.map(widthOf));
  const base = rows.findIndex((row) => widthOf(row) === widest);
  const ys = heightsOf(rows, blocks, Math.max(step * 1.1, widest / 10));
  const order = [...rows.keys()].sort((a, b) => Math.abs(a - base) - Math.abs(b - base) || b - a);
  for (const tier of order) {
    const row = rows[tier]!;
    const gap = tier <= base ? 0 : Math.min(2 * step, Math.max(0, widest / (row.length + 1) - step));
    let right: number | undefined;
    for (const at of row) {
      const half = blocks.get(at)!.width / 2;
      const wanted = mean(neighbours[at]!.flatMap((other) => places.get(other)?.x ?? []));
      const x = right === undefined ? (wanted ?? 0) : Math.max(wanted ?? right, right + half + gap);
      places.set(at, { x, y: ys[tier]! });
      right = x + half;
    }
    if (tier !== base) centre(row, places, neighbours);
  }
  for (const [at, block] of blocks) {
    const { x, y } = places.get(at)!;
    for (const [end, dx, dy] of block.ends) places.set(end, { x: x + dx, y: y + dy });
  }
  const [xs, all] = [[...places.values()].map(({ x }) => x), [...places.values()].map(({ y }) => y)];
  return { places, width: Math.max(...xs) - Math.min(...xs) + step, height: Math.max(...all) - Math.min(...all) + step };
}

/** Returns the position of each row, from the lowest one upwards. @param gap distance between a row with its end nodes and the next, px */
function heightsOf(rows: readonly (readonly number[])[], blocks: ReadonlyMap<number, Block>, gap: number): readonly number[] {
  let y = 0;
  return rows.map((row, tier) => {
    // Flat lines are hard to follow: the wider the rows, the farther they are apart.
    if (tier > 0) y -= gap + Math.max(...row.map((at) => blocks.get(at)!.height));
    return y;
  });
}

function mean(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Moves a row to the middle of the neighbours of all its members: the order only allowed to move them to the right. */
function centre(row: readonly number[], places: ReadonlyMap<number, { x: number; y: number }>, neighbours: Neighbours): void {
  const own = new Set(row);
  const beside = mean(row.flatMap((at) => neighbours[at]!.flatMap((other) => (own.has(other) ? [] : (places.get(other)?.x ?? [])))));
  if (beside === undefined) return;
  const shift = beside - mean(row.map((at) => places.get(at)!.x))!;
  for (const at of row) places.get(at)!.x += shift;
}

/** A member with its end nodes, which are placed from the member. */
interface Block {
  readonly width: number;
  readonly height: number;
  readonly ends: readonly (readonly [number, number, number])[];
}

function blockFor(
  at: number,
  ends: readonly number[],
  { widths, columns, step }: Pick<PlacedOptions, "widths" | "columns" | "step">,
): Block {
  if (ends.length === 0) return { width: Math.max(step, widths[at]!), height: 0, ends: [] };
  const pitch = Math.max(step * 0.7, ...ends.map((end) => widths[end]!));
  const lines = Math.ceil(ends.length / columns);
  const inLine = Math.ceil(ends.length / lines);
  const line = step * 0.7;
  return {
    // Odd lines are half a column to the right, so that the links to them do not run through the nodes above.
    width: Math.max(step, widths[at]!, pitch * (Math.min(inLine, ends.length) + (lines > 1 ? 0.5 : 0)) + step * 0.2),
    height: lines * line,
    ends: ends.map((end, index) => {
      const [row, column] = [Math.floor(index / inLine), index % inLine];
      const inThis = Math.min(inLine, ends.length - row * inLine);
      const shift = lines > 1 ? (row % 2 === 0 ? -0.25 : 0.25) : 0;
      return [end, (column - (inThis - 1) / 2 + shift) * pitch, (row + 1) * line + step * 0.1] as const;
    }),
  };
}

/** Orders each row by the middle of the neighbours of its members in the row beside it, again and again, and returns the best order. */
function ordered({ rows }: Tiers, neighbours: Neighbours): readonly (readonly number[])[] {
  let current = rows.map((row) => [...row].sort((a, b) => a - b));
  let best = { rows: current, crossings: crossingsOf(current, neighbours) };
  for (let sweep = 0; sweep < sweeps && best.crossings > 0; sweep++) {
    const upwards = sweep % 2 === 0;
    const next = [...current];
    for (let step = 1; step < rows.length; step++) {
      const at = upwards ? step : rows.length - 1 - step;
      const beside = positions(next[upwards ? at - 1 : at + 1]!);
      next[at] = byMiddle(next[at]!, beside, neighbours);
    }
    current = next;
    const crossings = crossingsOf(current, neighbours);
    if (crossings < best.crossings) best = { rows: current, crossings };
  }
  return best.rows;
}

function positions(row: readonly number[]): ReadonlyMap<number, number> {
  return new Map(row.map((member, at) => [member, at]));
}

function byMiddle(row: readonly number[], beside: ReadonlyMap<number, number>, neighbours: Neighbours): number[] {
  const middle = (member: number, own: number) => {
    const known = neighbours[member]!.flatMap((other) => beside.get(other) ?? []);
    return known.length === 0 ? own : known.reduce((sum, at) => sum + at, 0) / known.length;
  };
  return row
    .map((member, at) => ({ member, at, middle: middle(member, at) }))
    .sort((a, b) => a.middle - b.middle || a.at - b.at)
    .map(({ member }) => member);
}

/** Counts the crossings between neighbouring rows. */
function crossingsOf(rows: readonly (readonly number[])[], neighbours: Neighbours): number {
  let count = 0;
  for (let at = 1; at < rows.length; at++) {
    const beside = positions(rows[at - 1]!);
    const ends = rows[at]!.flatMap((member) => neighbours[member]!.flatMap((other) => beside.get(other) ?? []).sort((a, b) => a - b));
    // Inversions, counted by insertion into a sorted list.
    const sorted: number[] = [];
    for (const end of ends) {
      let low = 0;
      for (let high = sorted.length; low < high; ) {
        const middle = (low + high) >> 1;
        if (sorted[middle]! <= end) low = middle + 1;
        else high = middle;
      }
      count += sorted.length - low;
      sorted.splice(low, 0, end);
    }
  }
  return count;
}
