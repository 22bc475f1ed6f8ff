import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { type SideCell, type SideRow, shownRows, sideRows } from "./side-rows.ts";
import "./side-by-side.css";

interface SideBySideProps {
  readonly before: string;
  readonly after: string;
  /** Titles of the two sides: "On the host", "In the text". */
  readonly titles: readonly [string, string];
}

/** Shows two texts side by side, with their differences marked. Unchanged lines far from a difference are shown on request. */
export function SideBySide({ before, after, titles }: SideBySideProps) {
  const rows = useMemo(() => sideRows(before, after), [before, after]);
  const [showsAll, setShowsAll] = useState(false);
  const shown = useMemo(() => (showsAll ? rows : shownRows(rows)), [rows, showsAll]);
  if (rows.every(({ isSame }) => isSame)) return <p>The text did not change.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll it
    <section class="side-by-side" tabIndex={0} aria-label={`${titles[0]}, ${titles[1]}`}>
      <table>
        <colgroup>
          <col class="number" />
          <col />
          <col class="number" />
          <col />
        </colgroup>
        <thead>
          <tr>
            <th scope="col" colSpan={2}>
              {titles[0]}
            </th>
            <th scope="col" colSpan={2}>
              {titles[1]}
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((row, at) =>
            "hidden" in row ? (
              <tr key={`hidden ${at}`} class="hidden-rows">
                <td colSpan={4}>
                  <button type="button" class="plain" onClick={() => setShowsAll(true)}>
                    {row.hidden === 1 ? "1 equal line" : `${row.hidden} equal lines`}
                  </button>
                </td>
              </tr>
            ) : (
              <tr key={`${row.before?.line} ${row.after?.line}`}>
                <Cells row={row} side="before" />
                <Cells row={row} side="after" />
              </tr>
            ),
          )}
        </tbody>
      </table>
    </section>
  );
}

function Cells({ row, side }: { readonly row: SideRow; readonly side: "before" | "after" }) {
  const cell = row[side];
  const style = row.isSame ? "" : cell === undefined ? "absent" : side === "before" ? "removed" : "added";
  return (
    <>
      <td class={`number ${style}`}>{cell?.line}</td>
      <td class={style}>{cell !== undefined && <Line cell={cell} isSame={row.isSame} side={side} />}</td>
    </>
  );
}

interface LineProps {
  readonly cell: SideCell;
  readonly isSame: boolean;
  readonly side: "before" | "after";
}

/** A line; deleted and inserted parts are elements of their own, which screen readers announce. */
function Line({ cell: { text, changed }, isSame, side }: LineProps): ComponentChildren {
  if (isSame) return text;
  const [start, end] = changed ?? [0, text.length];
  const part = text.slice(start, end);
  return (
    <>
      {text.slice(0, start)}
      {side === "before" ? <del>{part}</del> : <ins>{part}</ins>}
      {text.slice(end)}
    </>
  );
}
