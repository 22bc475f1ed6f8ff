import { spot } from "./fields.ts";
import type { Lines } from "./lines.ts";
import type { Location } from "./locate.ts";
import type { Entry } from "./parse.ts";

/** Where a value stands in an intent. */
export interface ValuePlace extends Location {
  /** JSON pointer. */
  readonly path: string;
}

/** Of the value where it is on one line, else of its key. @param path of the value */
export function valuePlace(lines: Lines, entry: Entry, path: string): ValuePlace {
  const { start, end } = spot({ path: "", ...entry });
  const [from, to] = [lines.position(start), lines.position(end)];
  return { path, line: from.line, column: from.column, end_line: to.line, end_column: to.column };
}
