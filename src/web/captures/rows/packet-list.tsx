import { Component } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { CapturePacketRow } from "../../../contract/schemas/captures.ts";
import { packetKind, protocolName } from "./packet-kind.ts";
import type { PacketRows } from "./packet-rows.ts";
import { type RowView, rowWindow, scrollTo } from "./row-window.ts";

interface PacketListProps {
  readonly rows: PacketRows;
  /** Changes when rows have changed. */
  readonly version: number;
  /** Number of the packet that is looked at. */
  readonly selected: number | undefined;
  /** Told the number of a packet. */
  readonly onSelect: (number: number) => void;
  readonly timeOf: (at: string) => string;
  /** The newest stay in sight. */
  readonly follow: boolean;
  /** Told when somebody scrolls away from the newest, or back to it. */
  readonly onFollow: (follow: boolean) => void;
}

/** Px; as in captures.css. */
const rowHeight = 24;
const headHeight = 28;
/** Places are counted from a row a while before the first that is drawn: elements cannot be as far down as a long list is. */
const rowsOfBase = 10_000;

const columns = ["No.", "Time", "Source", "Destination", "Protocol", "Length", "Info"] as const;

/**
 * Packets as rows, of which only those in sight are in the page. Arrow keys, Page Up and Down, Home and End move the choice; a screen reader hears of
 * all rows there are.
 */
export function PacketList({ rows, version, selected, onSelect, timeOf, follow, onFollow }: PacketListProps) {
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState({ scrollTop: 0, viewHeight: 400 });
  /** Index of the choice among the rows: where arrow keys go from. */
  const chosen = useRef(-1);
  const toChoose = useRef<number>(undefined);
  /** Where the list was scrolled to from here, not by a person. */
  const led = useRef(0);
  const view: RowView = { count: rows.count, rowHeight, ...scroll };
  const { first, end, top, height } = rowWindow(view);

  const measure = () => {
    const { scrollTop, clientHeight } = box.current!;
    const viewHeight = Math.max(rowHeight, clientHeight - headHeight);
    setScroll((now) => (now.scrollTop === scrollTop && now.viewHeight === viewHeight ? now : { scrollTop, viewHeight }));
  };
  const lead = (scrollTop: number) => {
    box.current!.scrollTop = scrollTop;
    led.current = box.current!.scrollTop;
  };
  useLayoutEffect(() => {
    const watch = new ResizeObserver(measure);
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => {
    chosen.current = -1;
    toChoose.current = undefined;
    lead(0);
  }, [rows]);
  useLayoutEffect(() => {
    if (follow) lead(box.current!.scrollHeight);
    measure();
  }, [follow, rows.count, scroll.viewHeight]);
  useLayoutEffect(() => rows.see(first, end), [rows, first, end]);

  const choose = (index: number) => {
    const wanted = Math.min(rows.count - 1, Math.max(0, index));
    chosen.current = wanted;
    const row = rows.row(wanted);
    // One that is yet to come is chosen when it has come.
    toChoose.current = row === undefined ? wanted : undefined;
    if (row !== undefined) onSelect(row.number);
  };
  useLayoutEffect(() => {
    // Chosen elsewhere. Without a filter a packet stands where its number says; where one is in the way it may not stand here at all.
    if (selected === undefined || rows.filter !== "" || rows.row(chosen.current)?.number === selected) return;
    chosen.current = selected - 1;
    lead(scrollTo(chosen.current, view));
  }, [selected]);
  useLayoutEffect(() => {
    if (toChoose.current !== undefined && rows.row(toChoose.current) !== undefined) choose(toChoose.current);
  }, [version]);

  const key = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(scroll.viewHeight / rowHeight) - 1);
    const from = chosen.current < 0 ? Math.ceil(scroll.scrollTop / rowHeight) - 1 : chosen.current;
    const to: Readonly<Record<string, number>> = {
      ArrowDown: from + 1,
      ArrowUp: from - 1,
      PageDown: from + page,
      PageUp: from - page,
      Home: 0,
      End: rows.count - 1,
    };
    const index = to[event.key];
    if (index === undefined || rows.count === 0) return;
    event.preventDefault();
    choose(index);
    lead(scrollTo(chosen.current, view));
  };
  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current!;
    if (Math.abs(scrollTop - led.current) >= 1) {
      led.current = scrollTop;
      onFollow(scrollHeight - clientHeight - scrollTop < rowHeight);
    }
    measure();
  };
  // A row keeps its place as long as it is drawn, so that a scroll paints the new ones only.
  const base = Math.floor(first / rowsOfBase) * rowsOfBase;
  const shown: preact.VNode[] = [];
  let active: string | undefined;
  for (let index = first; index < end; index++) {
    const row = rows.row(index);
    const isSelected = row !== undefined && row.number === selected;
    if (isSelected) active = `packet-${index}`;
    shown.push(
      <PacketLine
        key={index}
        index={index}
        top={(index - base) * rowHeight}
        row={row}
        selected={isSelected}
        timeOf={timeOf}
        onChoose={choose}
      />,
    );
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows of a table could not stand in a layer that is moved
    <div
      ref={box}
      class="packet-list"
      role="grid"
      tabIndex={0}
      aria-label="Packets"
      aria-readonly="true"
      aria-rowcount={rows.count + 1}
      aria-colcount={columns.length}
      aria-activedescendant={active}
      onScroll={scrolled}
      onKeyDown={key}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: as the grid */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus, and tells the row */}
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
          {shown}
        </div>
      </div>
    </div>
  );
}

interface PacketLineProps {
  readonly index: number;
  /** Px. */
  readonly top: number;
  /** Undefined: it is on its way. */
  readonly row: CapturePacketRow | undefined;
  readonly selected: boolean;
  readonly timeOf: (at: string) => string;
  readonly onChoose: (index: number) => void;
}

/** One packet. Not drawn anew while the list is scrolled. */
class PacketLine extends Component<PacketLineProps> {
  override shouldComponentUpdate({ row, top, selected, timeOf }: PacketLineProps): boolean {
    return row !== this.props.row || top !== this.props.top || selected !== this.props.selected || timeOf !== this.props.timeOf;
  }

  override render({ index, top, row, selected, timeOf }: PacketLineProps) {
    const cells =
      row === undefined
        ? ["", "", "", "", "", "", "…"]
        : [String(row.number), timeOf(row.at), row.from, row.to, protocolName(row), String(row.length), row.summary];
    return (
      // biome-ignore lint/a11y/useSemanticElements: as the grid
      // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
      // biome-ignore lint/a11y/useKeyWithClickEvents: the grid hears the keys
      <div
        id={`packet-${index}`}
        class={`packet-line ${row === undefined ? "coming" : `kind-${packetKind(row)}`}${selected ? " selected" : ""}`}
        style={{ top: `${top}px` }}
        role="row"
        aria-rowindex={index + 2}
        aria-selected={selected}
        onClick={() => this.props.onChoose(index)}
      >
        {cells.map((text, column) => (
          // biome-ignore lint/a11y/useSemanticElements: as the grid
          // biome-ignore lint/a11y/useFocusableInteractive: as the row
          <span key={column} role="gridcell">
            {text}
          </span>
        ))}
      </div>
    );
  }
}
