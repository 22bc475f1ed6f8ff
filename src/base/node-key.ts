/** A row of an answer that describes a node. */
interface NodeRow {
  /** Absent in answers of older services. */
  readonly unique_key?: string | undefined;
  readonly node?: string | null | undefined;
  readonly name?: string | undefined;
}

/** Returns the key that commands and calls use for the node of a row. */
export function nodeKey({ unique_key, node, name }: NodeRow): string {
  return unique_key ?? node ?? name ?? "";
}

/** Returns the node's name on the host if it differs from its key, else "". */
export function otherName(row: NodeRow): string {
  return row.name === undefined || row.name === nodeKey(row) ? "" : row.name;
}
