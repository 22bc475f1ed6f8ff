import type { Lines } from "../diagnostics/lines.ts";
import { spot } from "../fields/fields.ts";
import type { Entry } from "../parse/parse.ts";

/** The place of a value in an intent. Lines and columns from 1, the end exclusive. */
export interface ValuePlace {
  /** JSON pointer. */
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly end_line: number;
  readonly end_column: number;
}

/** Returns the place of the value if it is on one line, else of its key. @param path of the value */
export function valuePlace(lines: Lines, entry: Pick<Entry, "place" | "value">, path: string): ValuePlace {
  const { start, end } = spot({ path: "", ...entry });
  const [from, to] = [lines.position(start), lines.position(end)];
  return { path, line: from.line, column: from.column, end_line: to.line, end_column: to.column };
}
