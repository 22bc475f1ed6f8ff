import type { GraphNode } from "./graph.ts";

/** Estimated width of a letter of a node's label, px, at its normal size of 13 px; generous, because fonts differ. */
export const labelLetter = 8;
const labelTop = 26;
const labelHeight = 20;
/** Half the size of a node's shape with its border. */
const shapeHalf = 28;
const maxLetters = 16;

/** Returns a label that is not longer than 16 letters: of a longer one, the middle is left out. */
export function shortLabel(label: string): string {
  if (label.length <= maxLetters) return label;
  return `${label.slice(0, maxLetters - 7)}…${label.slice(-6)}`;
}

/** Returns the width that a node needs for its label, px, with a gap to the next one. */
export function labelWidth(label: string): number {
  return shortLabel(label).length * labelLetter + 12;
}

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export function touches(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

type Labelled = Pick<GraphNode, "at" | "label" | "kind">;

/** Returns the box of the label below a node. @param growth factor of its size */
export function labelBox({ at, label }: Labelled, growth = 1): Box {
  const half = (shortLabel(label).length * labelLetter * growth) / 2;
  return { left: at.x - half, right: at.x + half, top: at.y + labelTop, bottom: at.y + labelTop + labelHeight * growth };
}

/** Above this factor labels are larger than the nodes. */
const maxGrowth = 4;

/** Returns the largest factor by which the labels of all nodes can grow, or must shrink, without covering another label or node. */
export function labelGrowth(nodes: readonly Labelled[]): number {
  const labelled = nodes.filter(({ kind }) => kind === "node");
  const half = (one: Labelled) => (shortLabel(one.label).length * labelLetter) / 2;
  let growth = maxGrowth;
  for (const one of labelled) {
    for (const other of nodes) {
      if (one === other) continue;
      const [dx, dy] = [Math.abs(one.at.x - other.at.x), other.at.y - one.at.y];
      // The two boxes are apart as long as they are apart in one of the directions.
      if (other.kind === "node" && dy >= 0) growth = Math.min(growth, Math.max(dx / (half(one) + half(other)), dy / labelHeight));
      if (dy > 0) growth = Math.min(growth, Math.max((dx - shapeHalf) / half(one), (dy - shapeHalf - labelTop) / labelHeight));
    }
  }
  return Math.max(minGrowth, growth);
}

/** Nodes that lie on each other have labels of at least this size. */
const minGrowth = 0.4;
/** Below this scale the names of interfaces are shown only for the link under the pointer, and node labels grow. */
export const minPortScale = 0.75;

/** Factors of the sizes of labels at a scale: on the screen, they do not become larger than normal. */
export interface LabelSizes {
  readonly node: number;
  readonly port: number;
}

export function labelSizes(scale: number, growth: number): LabelSizes {
  if (scale > 1) return { node: Math.min(1 / scale, growth), port: 1 / scale };
  return { node: Math.min(scale < minPortScale ? 1 / scale : 1, growth), port: 1 };
}
