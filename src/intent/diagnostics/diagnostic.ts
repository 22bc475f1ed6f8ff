/** One problem in the user's text, with its place. Lines and columns count from 1; the end is exclusive. */
export interface Diagnostic {
  readonly severity: "error" | "warning";
  /** A stable code such as unknown_key, duplicate_key, wrong_type, unknown_node. */
  readonly code: string;
  readonly message: string;
  /** JSON pointer into the YAML, e.g. /nodes/r1/image. */
  readonly path: string;
  /** Set if the place is in one of `files` and not in the intent itself. */
  readonly file?: string;
  readonly line: number;
  readonly column: number;
  readonly end_line: number;
  readonly end_column: number;
  /** A suggestion, such as `did you mean "image"?`. */
  readonly hint?: string;
}

/** Compares two diagnostics by their place in the text. */
export function byPlace(a: Diagnostic, b: Diagnostic): number {
  return a.line - b.line || a.column - b.column;
}
