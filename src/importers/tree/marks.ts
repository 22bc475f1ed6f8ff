import type { SourceNode } from "./source-tree.ts";

/** The fate of a part of the source. */
export type Level = "kept" | "mapped" | "dropped";

export interface Mark {
  readonly level: Level;
  readonly message: string;
  /** The part that the reader marked; absent: none did. */
  readonly node?: SourceNode;
}

const strength: Readonly<Record<Level, number>> = { dropped: 1, kept: 2, mapped: 3 };

/**
 * The fate of each leaf of a source: scalars and empty lists and maps. A value that several readers use – by an alias, or because nodes inherit it – has the
 * strongest of their marks: it is dropped only if nobody used it.
 */
export class Marks {
  readonly #leaves = new Map<SourceNode, Mark>();
  /** Containers whose leaves all have at least this strength. */
  readonly #whole = new Map<SourceNode, number>();

  get(leaf: SourceNode): Mark | undefined {
    return this.#leaves.get(leaf);
  }

  /** Marks all leaves below a node. */
  set(node: SourceNode, mark: Mark): void {
    const wanted = strength[mark.level];
    if (isLeaf(node)) {
      const before = this.#leaves.get(node);
      if (before === undefined || strength[before.level] < wanted) this.#leaves.set(node, mark);
      return;
    }
    // Thousands of nodes may inherit the same map.
    if ((this.#whole.get(node) ?? 0) >= wanted) return;
    this.#whole.set(node, wanted);
    for (const child of childrenOf(node)) this.set(child, mark);
  }

  /** Marks all leaves below a node, also those with a stronger mark. */
  replace(node: SourceNode, mark: Mark): void {
    if (isLeaf(node)) this.#leaves.set(node, mark);
    this.#whole.delete(node);
    for (const child of childrenOf(node)) this.replace(child, mark);
  }
}

export function isLeaf(node: SourceNode): boolean {
  return node.kind === "scalar" || (node.kind === "list" ? node.items.length : node.entries.size) === 0;
}

export function childrenOf(node: SourceNode): readonly SourceNode[] {
  if (node.kind === "scalar") return [];
  return node.kind === "list" ? node.items : [...node.entries.values()].map((entry) => entry.node);
}
