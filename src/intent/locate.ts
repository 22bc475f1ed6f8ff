import { Lines } from "./lines.ts";
import { parseYaml, type Value } from "./parse.ts";
import { type Place, Problems } from "./problems.ts";

/** Lines and columns from 1, the end exclusive. */
export interface Location {
  readonly line: number;
  readonly column: number;
  readonly end_line: number;
  readonly end_column: number;
}

/**
 * Tells where a JSON pointer such as /nodes/r1/template stands in an intent, for problems that only the host knows of. A part that is not
 * there (inherited from a kind, say) leaves the last one that is; the wrapper `topology` may stand around all but the name. The text is
 * read once, however many places are asked for.
 */
export function locator(yaml: string): (path: string) => Location {
  const root = parseYaml(yaml, new Problems(yaml))?.root;
  const lines = new Lines(yaml);
  return (path) => {
    const segments = path
      .split("/")
      .slice(1)
      .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
    const found = root === undefined ? undefined : [follow(root, segments), follow(root, ["topology", ...segments])];
    const [plain, wrapped] = found ?? [];
    const best = (wrapped?.depth ?? 0) - 1 > (plain?.depth ?? 0) ? wrapped : plain;
    const { start, end } = best?.place ?? { start: 0, end: 0 };
    const [from, to] = [lines.position(start), lines.position(end)];
    return { line: from.line, column: from.column, end_line: to.line, end_column: to.column };
  };
}

/** The value itself where the whole path is there and it is a scalar, otherwise the key (or the list's item) of the last part found. */
function follow(root: Value, segments: readonly string[]): { readonly depth: number; readonly place: Place | undefined } {
  let value = root;
  let place: Place | undefined;
  for (const [depth, segment] of segments.entries()) {
    const entry = value.kind === "map" ? value.entries.get(segment) : undefined;
    const next = entry?.value ?? (value.kind === "list" && /^\d+$/.test(segment) ? value.items[Number(segment)] : undefined);
    if (next === undefined) return { depth, place };
    value = next;
    place = entry?.place ?? next;
  }
  return { depth: segments.length, place: value.kind === "scalar" && value.text !== "" ? value : place };
}
