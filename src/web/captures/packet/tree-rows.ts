import type { PacketNode } from "../../../contract/schemas/captures.ts";

/** A field of a packet, as a line of its tree. */
export interface TreeRow {
  /** Where it stands: indices from the root, "2.0.1". */
  readonly path: string;
  /** Path of what it stands in; undefined at the root. */
  readonly parent: string | undefined;
  /** What it is in any packet, without its value: what is open in one is open in the next. */
  readonly kind: string;
  readonly label: string;
  /** From 1. */
  readonly level: number;
  /** Among its siblings, from 1. */
  readonly position: number;
  readonly siblings: number;
  /** Undefined: there is nothing in it. */
  readonly expanded: boolean | undefined;
  readonly severity: string | undefined;
  /** A display filter for packets that are alike in this. */
  readonly filter: string | undefined;
  readonly range: ByteRange | undefined;
  /** Number of another packet that it speaks of. */
  readonly packet: number | undefined;
}

/** Bytes of the packet, or of one of its further sources. */
export interface ByteRange {
  /** Index of the source; undefined: the packet's own bytes. */
  readonly source: number | undefined;
  readonly offset: number;
  readonly length: number;
}

/** The lines of a tree that are seen: what stands in an open field follows it. @param open kinds of fields */
export function rowsOfTree(tree: readonly PacketNode[], open: ReadonlySet<string>): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (nodes: readonly PacketNode[], parent: string | undefined, parentKind: string, level: number) => {
    nodes.forEach((node, index) => {
      const path = parent === undefined ? String(index) : `${parent}.${index}`;
      const kind = `${parentKind}/${kindOf(node)}`;
      const inside = node.children ?? [];
      const expanded = inside.length === 0 ? undefined : open.has(kind);
      const { label, severity, filter } = node;
      rows.push({
        path,
        parent,
        kind,
        label,
        level,
        position: index + 1,
        siblings: nodes.length,
        expanded,
        severity,
        filter,
        range: rangeOf(node),
        packet: node.packet,
      });
      if (expanded === true) add(inside, path, kind, level + 1);
    });
  };
  add(tree, undefined, "", 1);
  return rows;
}

/** A field that was found, and the kinds that must be open to see it. */
export interface FoundField extends Pick<TreeRow, "path" | "range" | "filter" | "packet"> {
  readonly open: readonly string[];
}

/** The innermost field that a byte belongs to; undefined where no field names it. */
export function fieldAt(tree: readonly PacketNode[], source: number | undefined, byte: number): FoundField | undefined {
  let best: (FoundField & { readonly range: ByteRange }) | undefined;
  const look = (nodes: readonly PacketNode[], parent: string | undefined, parentKind: string, open: readonly string[]) => {
    nodes.forEach((node, index) => {
      const path = parent === undefined ? String(index) : `${parent}.${index}`;
      const kind = `${parentKind}/${kindOf(node)}`;
      const range = rangeOf(node);
      const covers = range !== undefined && range.source === source && range.offset <= byte && byte < range.offset + range.length;
      // The frame covers all; what stands in a field is not longer than it.
      if (covers && (best === undefined || range.length <= best.range.length))
        best = { path, open, range, filter: node.filter, packet: node.packet };
      look(node.children ?? [], path, kind, [...open, kind]);
    });
  };
  look(tree, undefined, "", []);
  return best;
}

function kindOf({ filter, label }: PacketNode): string {
  return filter?.split(" ", 1)[0] ?? label.split(":", 1)[0]!;
}

function rangeOf({ offset, length, source }: PacketNode): ByteRange | undefined {
  return offset === undefined || length === undefined ? undefined : { source, offset, length };
}
