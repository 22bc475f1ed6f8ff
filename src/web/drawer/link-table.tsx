import { useState } from "preact/hooks";
import type { InspectedLink } from "../../contract/schemas/observe.ts";
import { Problem } from "../parts/problem.tsx";
import { type LinkColumn, type LinkRow, type LinkSorting, linkColumns, sortedLinks } from "./link-rows.ts";

export interface LinkTableProps {
  readonly rows: readonly LinkRow[];
  /** Selects a link of the drawing. */
  readonly onSelect: (id: string) => void;
  /** undefined: the user may not operate the lab. */
  readonly onSuspend: ((link: InspectedLink) => void) | undefined;
  /** Shows the packets of a link; undefined: not allowed, or the host cannot capture. */
  readonly onCapture: ((link: InspectedLink) => void) | undefined;
  readonly error: unknown;
}

const titles: Readonly<Record<LinkColumn, string>> = { from: "From", to: "To", state: "State", quality: "Link quality" };

/** All links of a lab with their state and quality; a column's title sorts by it. */
export default function LinkTable({ rows, onSelect, onSuspend, onCapture, error }: LinkTableProps) {
  const [sorting, setSorting] = useState<LinkSorting>({ column: "from", isDescending: false });
  const sortBy = (column: LinkColumn) =>
    setSorting((before) => ({ column, isDescending: before.column === column ? !before.isDescending : false }));
  if (rows.length === 0) return <p class="hint">The lab has no links.</p>;
  return (
    <>
      {error !== undefined && <Problem error={error} />}
      <table class="rows node-table">
        <thead>
          <tr>
            {linkColumns.map((column) => (
              <th
                key={column}
                scope="col"
                aria-sort={sorting.column !== column ? "none" : sorting.isDescending ? "descending" : "ascending"}
              >
                <button type="button" class="column" onClick={() => sortBy(column)}>
                  {titles[column]}
                  <span aria-hidden="true">{sorting.column === column ? (sorting.isDescending ? " ▾" : " ▴") : ""}</span>
                </button>
              </th>
            ))}
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {sortedLinks(rows, sorting).map(({ link, from, to, state, quality, isLiveOnly }) => (
            <tr key={link.id}>
              <th scope="row">
                <button type="button" class="plain" onClick={() => onSelect(`link:${link.id}`)}>
                  {from}
                  <span class="visually-hidden"> to {to}</span>
                </button>
              </th>
              <td>{to}</td>
              <td>{state === "suspended" ? <span class="mark warn">suspended</span> : state}</td>
              <td>
                {quality || "no impairment"}
                {isLiveOnly && <span class="mark warn">live only</span>}
              </td>
              <td>
                <div class="buttons">
                  {onSuspend !== undefined && (
                    <button type="button" onClick={() => onSuspend(link)}>
                      {state === "suspended" ? "Resume" : "Suspend"}
                      <span class="visually-hidden">
                        {" "}
                        {from} to {to}
                      </span>
                    </button>
                  )}
                  {onCapture !== undefined && (
                    <button type="button" onClick={() => onCapture(link)}>
                      Capture
                      <span class="visually-hidden">
                        {" "}
                        {from} to {to}
                      </span>
                    </button>
                  )}
                </div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
