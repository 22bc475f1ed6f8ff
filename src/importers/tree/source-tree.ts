/** A file of another tool as a tree with lines, the same for all notations. Lines count from 1. */
export type SourceNode = SourceScalar | SourceList | SourceMap;

export interface SourceScalar {
  readonly kind: "scalar";
  readonly value: string | number | boolean | null;
  /** As it is written, before a number or boolean is made of it. */
  readonly text: string;
  readonly line: number;
}

export interface SourceList {
  readonly kind: "list";
  readonly items: readonly SourceNode[];
  readonly line: number;
}

export interface SourceMap {
  readonly kind: "map";
  readonly entries: ReadonlyMap<string, SourceEntry>;
  readonly line: number;
}

export interface SourceEntry {
  readonly node: SourceNode;
  /** Line of the key. */
  readonly line: number;
}

/** Deepest nesting that is read. */
export const maxDepth = 64;
/** Values of one file: lists, maps and scalars. */
export const maxValues = 500_000;

export function scalar(value: string | number | boolean | null, line: number, text = value === null ? "" : String(value)): SourceScalar {
  return { kind: "scalar", value, text, line };
}
