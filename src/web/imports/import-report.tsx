import { useState } from "preact/hooks";
import type { LabSourceData, LabSourceLine } from "../../contract/schemas/observe.ts";

interface ImportReportProps {
  readonly counts: LabSourceData["counts"];
  readonly report: readonly LabSourceLine[];
  /** Number of lines that the report lacks. */
  readonly leftOut: number;
}

/** Lines that are shown at first. */
const firstLines = 200;

/** Each part of the source: kept, mapped or dropped. Dropped parts come first. */
export function ImportReport({ counts, report, leftOut }: ImportReportProps) {
  const [hasKept, setHasKept] = useState(false);
  const [shown, setShown] = useState(firstLines);
  const levels = hasKept ? (["dropped", "mapped", "kept"] as const) : (["dropped", "mapped"] as const);
  const lines = levels.flatMap((level) => report.filter((line) => line.level === level));
  return (
    <section aria-label="Report">
      <h2>What becomes of the parts of the file</h2>
      <p>
        {counts.kept} kept, {counts.mapped} mapped, {counts.dropped} dropped.
      </p>
      <p>
        <label class="choice">
          <input type="checkbox" checked={hasKept} onChange={(event) => setHasKept(event.currentTarget.checked)} /> Show kept parts, too
        </label>
      </p>
      {lines.length > 0 && (
        <table class="rows import-report">
          <thead>
            <tr>
              <th scope="col">Result</th>
              <th scope="col">Place</th>
              <th scope="col">Part</th>
              <th scope="col">Explanation</th>
            </tr>
          </thead>
          <tbody>
            {lines.slice(0, shown).map(({ file, line, path, level, message }) => (
              <tr key={`${file}:${line}:${path}:${message}`}>
                <td>
                  <span class={level === "dropped" ? "mark warn" : "mark"}>{level}</span>
                </td>
                <td>{[file, line].filter((part) => part !== undefined).join(":")}</td>
                <td>
                  <code>{path === "" ? "/" : path}</code>
                </td>
                <td>{message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {lines.length > shown && (
        <button type="button" onClick={() => setShown(shown + 1_000)}>
          Show more: {lines.length - shown} lines are left
        </button>
      )}
      {leftOut > 0 && <p class="hint">{leftOut} more lines are too many for the page: labwright import-file --report shows them.</p>}
    </section>
  );
}
