import type { PacketNode } from "../../../contract/schemas/captures.ts";

/** A field of a packet, as a row of its tree. */
export interface TreeRow {
  /** Indices from the root: "2.0.1". */
  readonly path: string;
  /** Path of the parent; undefined at the root. */
  readonly parent: string | undefined;
  /** Identifies the field in all packets, without its value: a field that is open in one packet is open in the next. */
  readonly kind: string;
  readonly label: string;
  /** Depth, from 1. */
  readonly level: number;
  /** Position among its siblings, from 1. */
  readonly position: number;
  readonly siblings: number;
  /** undefined: it has no children. */
  readonly expanded: boolean | undefined;
  readonly severity: string | undefined;
  /** A display filter that matches packets with the same value of the field. */
  readonly filter: string | undefined;
  readonly range: ByteRange | undefined;
  /** Number of another packet that the field refers to. */
  readonly packet: number | undefined;
}

/** Bytes of the packet, or of one of its further sources. */
export interface ByteRange {
  /** Index of the source; undefined: the packet's own bytes. */
  readonly source: number | undefined;
  readonly offset: number;
  readonly length: number;
}

/** Returns the visible rows of a tree: the children of an open field follow it. @param open kinds of open fields */
export function rowsOfTree(tree: readonly PacketNode[], open: ReadonlySet<string>): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (nodes: readonly PacketNode[], parent: string | undefined, parentKind: string, level: number) => {
    nodes.forEach((node, index) => {
      const path = parent === undefined ? String(index) : `${parent}.${index}`;
      const kind = `${parentKind}/${kindOf(node)}`;
      const children = node.children ?? [];
      const expanded = children.length === 0 ? undefined : open.has(kind);
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
      if (expanded === true) add(children, path, kind, level + 1);
    });
  };
  add(tree, undefined, "", 1);
  return rows;
}

/** A found field, and the kinds that must be open to show it. */
export interface FoundField extends Pick<TreeRow, "path" | "range" | "filter" | "packet"> {
  readonly open: readonly string[];
}

/** Returns the innermost field that contains a byte; undefined if no field contains it. */
export function fieldAt(tree: readonly PacketNode[], source: number | undefined, byte: number): FoundField | undefined {
  let best: (FoundField & { readonly range: ByteRange }) | undefined;
  const search = (nodes: readonly PacketNode[], parent: string | undefined, parentKind: string, open: readonly string[]) => {
    nodes.forEach((node, index) => {
      const path = parent === undefined ? String(index) : `${parent}.${index}`;
      const kind = `${parentKind}/${kindOf(node)}`;
      const range = rangeOf(node);
      const covers = range !== undefined && range.source === source && range.offset <= byte && byte < range.offset + range.length;
      // A field is never longer than its parent.
      if (covers && (best === undefined || range.length <= best.range.length))
        best = { path, open, range, filter: node.filter, packet: node.packet };
      search(node.children ?? [], path, kind, [...open, kind]);
    });
  };
  search(tree, undefined, "", []);
  return best;
}

function kindOf({ filter, label }: PacketNode): string {
  return filter?.split(" ", 1)[0] ?? label.split(":", 1)[0]!;
}

function rangeOf({ offset, length, source }: PacketNode): ByteRange | undefined {
  return offset === undefined || length === undefined ? undefined : { source, offset, length };
}
