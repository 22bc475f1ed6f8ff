import type { VNode } from "preact";
import { PacketLine } from "./packet-line.tsx";
import type { PacketRows } from "./packet-rows.ts";
import { rowHeight, usePacketScroll } from "./use-packet-scroll.ts";

interface PacketListProps {
  readonly rows: PacketRows;
  /** Increases when the rows change. */
  readonly version: number;
  /** Number of the selected packet. */
  readonly selected: number | undefined;
  /** Called with the number of a packet. */
  readonly onSelect: (number: number) => void;
  readonly formatTime: (at: string) => string;
  /** Keeps the newest packets visible. */
  readonly follow: boolean;
  /** Called when the user scrolls away from the newest packets, or back to them. */
  readonly onFollow: (follow: boolean) => void;
}

/** Positions are relative to the last multiple of this number of rows: browsers limit the position of an element in a long list. */
const rowsOfBase = 10_000;

const columns = ["No.", "Time", "Source", "Destination", "Protocol", "Length", "Info"] as const;

/**
 * Lists packets. Only the visible rows are in the page; a screen reader gets the number of all rows. Arrow keys, Page Up and Down, Home and End move the
 * selection.
 */
export function PacketList({ formatTime, ...input }: PacketListProps) {
  const { rows, selected } = input;
  const { box, window, select, onScroll, onKeyDown } = usePacketScroll(input);
  const { first, end, top, height } = window;
  // A row keeps its position as long as it is drawn, so that scrolling paints only new rows.
  const base = Math.floor(first / rowsOfBase) * rowsOfBase;
  const lines: VNode[] = [];
  let activeId: string | undefined;
  for (let index = first; index < end; index++) {
    const row = rows.row(index);
    const isSelected = row !== undefined && row.number === selected;
    if (isSelected) activeId = `packet-${index}`;
    lines.push(
      <PacketLine
        key={index}
        index={index}
        top={(index - base) * rowHeight}
        row={row}
        selected={isSelected}
        formatTime={formatTime}
        onSelect={select}
      />,
    );
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: the rows of a table cannot be in a transformed element
    <div
      ref={box}
      class="packet-list"
      role="grid"
      tabIndex={0}
      aria-label="Packets"
      aria-readonly="true"
      aria-rowcount={rows.count + 1}
      aria-colcount={columns.length}
      aria-activedescendant={activeId}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: as the grid */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus, and names the active row */}
      <div class="packet-head packet-line" role="row" aria-rowindex={1}>
        {columns.map((name) => (
          // biome-ignore lint/a11y/useSemanticElements: as the grid
          // biome-ignore lint/a11y/useFocusableInteractive: as the row
          <span key={name} role="columnheader">
            {name}
          </span>
        ))}
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: as the grid */}
      <div class="packet-rows" role="rowgroup" style={{ height: `${height}px` }}>
        <div role="presentation" style={{ transform: `translateY(${top - (first - base) * rowHeight}px)` }}>
          {lines}
        </div>
      </div>
    </div>
  );
}
