import { pointer } from "../../intent/diagnostics/problems.ts";
import { childrenOf, isLeaf, type Level, type Mark } from "./marks.ts";
import type { Part } from "./part.ts";
import type { SourceEntry, SourceNode } from "./source-tree.ts";

/** A part of the source and what became of it. */
export interface ImportLine {
  /** Path of the file in the source. */
  readonly file: string;
  /** JSON pointer into the file. No line's path is below that of another line of its file: each leaf has exactly one line. */
  readonly path: string;
  /** In the file, from 1. */
  readonly line: number;
  readonly level: Level;
  readonly message: string;
}

function noted(line: ImportLine, note: string | undefined): ImportLine {
  return note === undefined ? line : { ...line, level: line.level === "kept" ? "mapped" : line.level, message: `${line.message}; ${note}` };
}

const unused: Mark = { level: "dropped", message: "has no counterpart here" };
/** An empty map of something that is in the lab, such as a node without fields. */
const present: Mark = { level: "kept", message: "as it is" };
/** The leaves below a node have different marks. */
const mixed = Symbol("mixed");

/**
 * Returns the report of a file: a line for each leaf, and one for a whole list or map if its leaves share one mark. Parts that no reader marked are dropped.
 */
export function reportOf(root: Part): readonly ImportLine[] {
  const { file, marks, opened } = root.source;
  const lines: ImportLine[] = [];
  const common = new Map<SourceNode, Mark | typeof mixed>();
  const reported = new Map<SourceNode, number>();

  const markOf = (node: SourceNode): Mark | typeof mixed => {
    if (isLeaf(node)) return marks.get(node) ?? (node.kind !== "scalar" && opened.has(node) ? present : unused);
    if (opened.has(node)) return mixed;
    let found = common.get(node);
    if (found === undefined) {
      const [first = unused, ...others] = childrenOf(node).map(markOf);
      found = others.every((other) => other === first) ? first : mixed;
      common.set(node, found);
    }
    return found;
  };
  const above = new Set<SourceNode>();
  /** A whole list or map has one line if the reader marked it as a whole, not if it has a single leaf. */
  const isWhole = (node: SourceNode, mark: Mark) => mark.node === undefined || mark.node === node || above.has(mark.node) || isLeaf(node);
  const emit = (node: SourceNode, path: string, line: number): void => {
    const before = reported.get(node);
    const mark = markOf(node);
    if (before === undefined) reported.set(node, line);
    if (before !== undefined) {
      const level = mark === mixed ? "mapped" : mark.level;
      lines.push({ file, path, line, level, message: `repeats line ${before}, which has its report` });
    } else if (mark !== mixed && isWhole(node, mark)) lines.push({ file, path, line, level: mark.level, message: mark.message });
    else {
      above.add(node);
      if (node.kind === "list") for (const [index, item] of node.items.entries()) emit(item, pointer(path, index), item.line);
      if (node.kind === "map") for (const [key, entry] of node.entries) emitEntry(path, key, entry);
      above.delete(node);
    }
  };
  const emitEntry = (path: string, key: string, { node, line }: SourceEntry): void => emit(node, pointer(path, key), line);
  emit(root.node, root.path, root.line);
  const { notes } = root.source;
  return notes === undefined ? lines : lines.map((line) => noted(line, notes.get(line.line)));
}
