import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PacketRows } from "./packet-rows.ts";
import { type RowView, rowWindow, scrollTo } from "./row-window.ts";

/** Px; as in captures.css. */
export const rowHeight = 24;
const headHeight = 28;

interface ScrollInput {
  readonly rows: PacketRows;
  /** Increases when the rows change. */
  readonly version: number;
  /** Number of the selected packet. */
  readonly selected: number | undefined;
  readonly onSelect: (number: number) => void;
  /** Keeps the newest packets visible. */
  readonly follow: boolean;
  readonly onFollow: (follow: boolean) => void;
}

export interface PacketScroll {
  readonly box: RefObject<HTMLDivElement | null>;
  /** The drawn rows: from `first` to before `end`, at `top` px of `height` px. */
  readonly window: ReturnType<typeof rowWindow>;
  readonly select: (index: number) => void;
  readonly onScroll: () => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

/** The scroll position of the packet list, and its selection by index and by keys. */
export function usePacketScroll({ rows, version, selected, onSelect, follow, onFollow }: ScrollInput): PacketScroll {
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState({ scrollTop: 0, viewHeight: 400 });
  /** Index of the selected row: arrow keys start from it. -1: none. */
  const selectedIndex = useRef(-1);
  /** Index of a row that is selected as soon as it is loaded. */
  const pendingIndex = useRef<number>(undefined);
  /** The last scroll position that the page set itself, to recognise when the user scrolls. */
  const ownScrollTop = useRef(0);
  const view: RowView = { count: rows.count, rowHeight, ...scroll };
  const window = rowWindow(view);
  const { first, end } = window;

  const measure = () => {
    const { scrollTop, clientHeight } = box.current!;
    const viewHeight = Math.max(rowHeight, clientHeight - headHeight);
    setScroll((now) => (now.scrollTop === scrollTop && now.viewHeight === viewHeight ? now : { scrollTop, viewHeight }));
  };
  const setScrollTop = (scrollTop: number) => {
    box.current!.scrollTop = scrollTop;
    ownScrollTop.current = box.current!.scrollTop;
  };
  useLayoutEffect(() => {
    const resized = new ResizeObserver(measure);
    resized.observe(box.current!);
    return () => resized.disconnect();
  }, []);
  useLayoutEffect(() => {
    selectedIndex.current = -1;
    pendingIndex.current = undefined;
    setScrollTop(0);
  }, [rows]);
  useLayoutEffect(() => {
    if (follow) setScrollTop(box.current!.scrollHeight);
    measure();
  }, [follow, rows.count, scroll.viewHeight]);
  useLayoutEffect(() => rows.show(first, end), [rows, first, end]);

  const select = (index: number) => {
    const wanted = Math.min(rows.count - 1, Math.max(0, index));
    selectedIndex.current = wanted;
    const row = rows.row(wanted);
    pendingIndex.current = row === undefined ? wanted : undefined;
    if (row !== undefined) onSelect(row.number);
  };
  useLayoutEffect(() => {
    // Selected outside of the list. Without a filter the index follows from the number; with a filter the packet may not be in the list.
    if (selected === undefined || rows.filter !== "" || rows.row(selectedIndex.current)?.number === selected) return;
    selectedIndex.current = selected - 1;
    setScrollTop(scrollTo(selectedIndex.current, view));
  }, [selected]);
  useLayoutEffect(() => {
    if (pendingIndex.current !== undefined && rows.row(pendingIndex.current) !== undefined) select(pendingIndex.current);
  }, [version]);

  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(scroll.viewHeight / rowHeight) - 1);
    const from = selectedIndex.current < 0 ? Math.ceil(scroll.scrollTop / rowHeight) - 1 : selectedIndex.current;
    const targets: Readonly<Record<string, number>> = {
      ArrowDown: from + 1,
      ArrowUp: from - 1,
      PageDown: from + page,
      PageUp: from - page,
      Home: 0,
      End: rows.count - 1,
    };
    const index = targets[event.key];
    if (index === undefined || rows.count === 0) return;
    event.preventDefault();
    select(index);
    setScrollTop(scrollTo(selectedIndex.current, view));
  };
  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current!;
    if (Math.abs(scrollTop - ownScrollTop.current) >= 1) {
      ownScrollTop.current = scrollTop;
      onFollow(scrollHeight - clientHeight - scrollTop < rowHeight);
    }
    measure();
  };
  return { box, window, select, onScroll, onKeyDown };
}
