import type { Diagnostic } from "./diagnostic.ts";
import { Lines } from "./lines.ts";

/** A longer source line is cut to the part around the place. */
const MAX_WIDTH = 160;

/**
 * Formats diagnostics as compilers do: `lab.yaml:7:5: error: unknown key "imgae" (unknown_key)`, then the source line, a caret under the place, and
 * the hint. `name` is the name of the intent, by default "lab.yaml".
 */
export function showDiagnostics(
  diagnostics: readonly Diagnostic[],
  source: { readonly yaml: string; readonly files?: Readonly<Record<string, string>>; readonly name?: string },
): string {
  const texts = new Map<string | undefined, Lines>();
  const linesOf = (file: string | undefined): Lines => {
    let lines = texts.get(file);
    if (lines === undefined) {
      lines = new Lines(file === undefined ? source.yaml : Object.hasOwn(source.files ?? {}, file) ? (source.files?.[file] as string) : "");
      texts.set(file, lines);
    }
    return lines;
  };
  return diagnostics
    .map((diagnostic) => showOne(diagnostic, linesOf(diagnostic.file), diagnostic.file ?? source.name ?? "lab.yaml"))
    .join("\n");
}

function showOne(diagnostic: Diagnostic, lines: Lines, name: string): string {
  const { severity, code, message, line, column, end_line, end_column, hint } = diagnostic;
  const shown = [`${name}:${line}:${column}: ${severity}: ${message} (${code})`];
  const source = lines.line(line);
  if (source.trim() !== "") {
    const cut = source.length > MAX_WIDTH ? Math.max(0, Math.min(column - 1 - MAX_WIDTH / 2, source.length - MAX_WIDTH)) : 0;
    const window = source.slice(cut, cut + MAX_WIDTH);
    const number = String(line);
    const from = column - 1 - cut;
    const to = end_line === line ? end_column - 1 - cut : window.length;
    // Tabs are kept in front of the caret, so that it is in the right column at any tab width.
    const indent = window.slice(0, from).replace(/[^\t]/g, " ");
    shown.push(`  ${number} | ${window}`);
    shown.push(`  ${" ".repeat(number.length)} | ${indent}${"^".repeat(Math.max(1, Math.min(to, window.length) - from))}`);
  }
  if (hint !== undefined) shown.push(`    hint: ${hint}`);
  return shown.join("\n");
}
