import { useEffect, useState } from "preact/hooks";
import { durationText } from "../panels/duration-text.ts";
import { usePolling } from "../parts/use-polling.ts";
import { type Column, columns, type NodeRow, type Sorting, sortedBy, sortedRows } from "./node-rows.ts";

export interface NodeTableProps {
  readonly rows: readonly NodeRow[];
  /** Reads the state again: load and memory change without an event. */
  readonly reloadStatus: () => void;
  /** Reads the lab again: addresses change without an event. */
  readonly reload: () => void;
  /** Selects a node of the drawing. */
  readonly onSelect: (id: string) => void;
  /** undefined: the user may not operate the lab. */
  readonly onConsole: ((id: string) => void) | undefined;
  readonly onPower: ((action: "start" | "stop" | "restart", keys: readonly string[]) => void) | undefined;
}

const titles: Readonly<Record<Column, string>> = {
  name: "Node",
  status: "State",
  cpu: "CPU",
  memory: "Memory",
  disk: "Disk",
  uptime: "Up",
  template: "Template",
  links: "Links",
  addresses: "Addresses",
};

const pollMs = 3_000;
const addressPollMs = 10_000;

/** All nodes of a lab with their state and load; a column's title sorts by it. */
export default function NodeTable({ rows, reloadStatus, reload, onSelect, onConsole, onPower }: NodeTableProps) {
  usePolling(reloadStatus, pollMs);
  usePolling(reload, addressPollMs);
  useEffect(reload, []);
  const [sorting, setSorting] = useState<Sorting>({ column: "name", isDescending: false });
  // A column that the host fills for no node is not shown.
  const shown = columns.filter((column) => rows.length === 0 || rows.some((row) => cellText(row, column) !== ""));
  return (
    <table class="rows node-table">
      <thead>
        <tr>
          {shown.map((column) => (
            <th key={column} scope="col" aria-sort={ariaSort(sorting, column)}>
              <button type="button" class="column" onClick={() => setSorting((before) => sortedBy(before, column))}>
                {titles[column]}
                <span aria-hidden="true">{sorting.column === column ? (sorting.isDescending ? " ▾" : " ▴") : ""}</span>
              </button>
            </th>
          ))}
          {onPower !== undefined && (
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {sortedRows(rows, sorting).map((row) => (
          <tr key={row.id}>
            {shown.map((column) =>
              column === "name" ? (
                <th key={column} scope="row">
                  <button type="button" class="plain" onClick={() => onSelect(row.id)}>
                    {row.name}
                  </button>
                </th>
              ) : (
                <td key={column} class={column}>
                  {column === "status" && <span class={`dot ${row.status}`} aria-hidden="true" />} {cellText(row, column)}
                </td>
              ),
            )}
            {onPower !== undefined && <RowActions row={row} onConsole={onConsole} onPower={onPower} />}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type RowActionsProps = Pick<NodeTableProps, "onConsole"> & {
  readonly row: NodeRow;
  readonly onPower: NonNullable<NodeTableProps["onPower"]>;
};

function RowActions({ row: { id, key, name, status }, onConsole, onPower }: RowActionsProps) {
  const isUp = status === "running" || status === "starting";
  return (
    <td>
      <div class="buttons">
        {isUp && onConsole !== undefined && (
          <button type="button" onClick={() => onConsole(id)}>
            Console<span class="visually-hidden"> of {name}</span>
          </button>
        )}
        <button type="button" onClick={() => onPower(isUp ? "stop" : "start", [key])}>
          {isUp ? "Stop" : "Start"}
          <span class="visually-hidden"> {name}</span>
        </button>
        {isUp && (
          <button type="button" onClick={() => onPower("restart", [key])}>
            Restart<span class="visually-hidden"> {name}</span>
          </button>
        )}
      </div>
    </td>
  );
}

function ariaSort(sorting: Sorting, column: Column): "ascending" | "descending" | "none" {
  if (sorting.column !== column) return "none";
  return sorting.isDescending ? "descending" : "ascending";
}

function cellText(row: NodeRow, column: Column): string {
  switch (column) {
    case "cpu":
      return row.cpu === undefined ? "" : `${row.cpu.toFixed(0)} %`;
    case "memory":
    case "disk":
      return row[column] === undefined ? "" : `${(row[column] / 2 ** 20).toFixed(0)} MiB`;
    case "uptime":
      return row.uptime === undefined ? "" : durationText(row.uptime);
    case "addresses":
      return row.addresses.join(", ");
    default:
      return String(row[column]);
  }
}
