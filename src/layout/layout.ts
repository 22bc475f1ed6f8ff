import { radialTree } from "./radial-tree.ts";
import { separate, spread } from "./stress.ts";
import { drawTiers } from "./tiered.ts";
import { forcedTiers, type Tiers, tiersOf } from "./tiers.ts";

export interface Place {
  readonly x: number;
  readonly y: number;
}

interface Member {
  readonly id: string;
  readonly position?: Place | undefined;
  /** Members with the same name, except for their numbers, belong to the same tier. */
  readonly name?: string | undefined;
  /** The width of its name, px; absent: narrow. */
  readonly width?: number | undefined;
}

/** auto: tiers for a hierarchy, rings for a tree, and otherwise distances as in the graph. */
export type LayoutKind = "auto" | "tiers" | "rings" | "distances";

/** Distance of neighbours in the drawing, px. */
export const step = 140;

/**
 * Returns a position for each member: the declared one, or a computed one, with short links that do not cross. The result is deterministic. Trees are
 * drawn radially around their middle, hierarchies as tiers, and other graphs so that distances in the drawing match those in the graph. Unconnected
 * parts are placed side by side.
 */
export function layoutOf(
  members: readonly Member[],
  links: readonly (readonly [string, string])[],
  kind: LayoutKind = "auto",
): ReadonlyMap<string, Place> {
  const index = new Map(members.map(({ id }, at) => [id, at]));
  const neighbours = neighboursOf(members.length, links, index);
  const x = new Float64Array(members.length);
  const y = new Float64Array(members.length);
  const fixed = members.map(({ position }) => position !== undefined);
  members.forEach(({ position }, at) => {
    x[at] = position?.x ?? 0;
    y[at] = position?.y ?? 0;
  });
  const stems = members.map(({ name = "" }) => name.replaceAll(/\d+/g, ""));
  const widths = members.map(({ width = 0 }) => width);
  const loose: (readonly number[])[] = [];
  for (const part of partsOf(neighbours)) {
    if (part.every((at) => fixed[at])) continue;
    if (part.some((at) => fixed[at])) {
      spread(part, neighbours, { x, y, fixed, step });
      continue;
    }
    const isTree = linksWithin(part, neighbours) === part.length - 1;
    const tiers = tiersFor(part, neighbours, stems, { kind, isTree });
    if (tiers !== undefined) drawTiers(tiers, neighbours, { x, y, step, widths });
    else if (isTree && kind !== "distances") radialTree(part, neighbours, { x, y, step });
    else spread(part, neighbours, { x, y, fixed, step });
    loose.push(part);
  }
  shelve(loose, x, y, fixed);
  // Members with and without a declared position may overlap.
  if (fixed.some(Boolean) && !fixed.every(Boolean)) separate([...fixed.keys()], { x, y, fixed, step });
  return new Map(members.map(({ id, position }, at) => [id, position ?? { x: Math.round(x[at]!), y: Math.round(y[at]!) }]));
}

function tiersFor(
  part: readonly number[],
  neighbours: readonly (readonly number[])[],
  stems: readonly string[],
  { kind, isTree }: { readonly kind: LayoutKind; readonly isTree: boolean },
): Tiers | undefined {
  if (kind === "tiers") return forcedTiers(part, neighbours, stems);
  return kind === "auto" && !isTree ? tiersOf(part, neighbours, stems) : undefined;
}

/** Returns the neighbours of each member, each once, in the order of members. A member is not its own neighbour. */
function neighboursOf(
  count: number,
  links: readonly (readonly [string, string])[],
  index: ReadonlyMap<string, number>,
): readonly (readonly number[])[] {
  const sets = Array.from({ length: count }, () => new Set<number>());
  for (const [from, to] of links) {
    const a = index.get(from);
    const b = index.get(to);
    if (a === undefined || b === undefined || a === b) continue;
    sets[a]!.add(b);
    sets[b]!.add(a);
  }
  return sets.map((set) => [...set].sort((a, b) => a - b));
}

/** Returns the connected parts, each in breadth-first order from its first member. */
function partsOf(neighbours: readonly (readonly number[])[]): readonly (readonly number[])[] {
  const seen = new Uint8Array(neighbours.length);
  const parts: number[][] = [];
  for (let first = 0; first < neighbours.length; first++) {
    if (seen[first] === 1) continue;
    seen[first] = 1;
    const part = [first];
    for (let next = 0; next < part.length; next++) {
      for (const other of neighbours[part[next]!]!) {
        if (seen[other] === 1) continue;
        seen[other] = 1;
        part.push(other);
      }
    }
    parts.push(part);
  }
  return parts;
}

function linksWithin(part: readonly number[], neighbours: readonly (readonly number[])[]): number {
  return part.reduce((sum, at) => sum + neighbours[at]!.length, 0) / 2;
}

/** Places the parts side by side, the largest first, in rows of about the same width, below the members with a declared position. */
function shelve(parts: readonly (readonly number[])[], x: Float64Array, y: Float64Array, fixed: readonly boolean[]): void {
  if (parts.length === 0) return;
  const boxes = parts.map((part) => {
    const left = Math.min(...part.map((at) => x[at]!));
    const top = Math.min(...part.map((at) => y[at]!));
    const width = Math.max(...part.map((at) => x[at]!)) - left + step;
    return { part, left, top, width, height: Math.max(...part.map((at) => y[at]!)) - top + step };
  });
  boxes.sort((a, b) => b.part.length - a.part.length || a.part[0]! - b.part[0]!);
  const area = boxes.reduce((sum, { width, height }) => sum + width * height, 0);
  const rowWidth = Math.max(boxes[0]!.width, Math.sqrt(area) * 1.4);
  const declared = [...fixed.keys()].filter((at) => fixed[at]);
  const startX = declared.length === 0 ? 0 : Math.min(...declared.map((at) => x[at]!));
  let rowTop = declared.length === 0 ? 0 : Math.max(...declared.map((at) => y[at]!)) + step;
  let right = 0;
  let rowHeight = 0;
  for (const { part, left, top, width, height } of boxes) {
    if (right > 0 && right + width > rowWidth) {
      rowTop += rowHeight;
      right = 0;
      rowHeight = 0;
    }
    for (const at of part) {
      x[at]! += startX + right - left;
      y[at]! += rowTop - top;
    }
    right += width;
    rowHeight = Math.max(rowHeight, height);
  }
}
