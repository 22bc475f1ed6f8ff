/** The rows of a scrolled list that are drawn. */
export interface RowWindow {
  /** Index of the first drawn row. */
  readonly first: number;
  /** Index after the last drawn row. */
  readonly end: number;
  /** Position of the first drawn row, px from the top of the list. Can be negative if the scroll is proportional. */
  readonly top: number;
  /** Height of the list, px, limited to the maximum of browsers. */
  readonly height: number;
}

export interface RowView {
  readonly count: number;
  /** Px. */
  readonly rowHeight: number;
  /** Height of the visible part, px. */
  readonly viewHeight: number;
  readonly scrollTop: number;
}

/** Number of rows that are drawn beyond each edge, so that a fast scroll shows no gap. */
const extraRows = 8;
/** Maximum height of an element, px: the limit of Firefox, which is the lowest. If more rows exist, the scroll bar is proportional. */
const maxHeight = 15_000_000;

export function rowWindow({ count, rowHeight, viewHeight, scrollTop }: RowView): RowWindow {
  const whole = count * rowHeight;
  const height = Math.min(whole, maxHeight);
  const at = scrollTop * stretch(whole, height, viewHeight);
  const first = Math.max(0, Math.floor(at / rowHeight) - extraRows);
  const end = Math.min(count, Math.ceil((at + viewHeight) / rowHeight) + extraRows);
  return { first: Math.min(first, count), end, top: scrollTop - (at - first * rowHeight), height };
}

/** Returns the scroll position that shows a row completely, with as little scrolling as needed. */
export function scrollTo(row: number, { count, rowHeight, viewHeight, scrollTop }: RowView): number {
  const whole = count * rowHeight;
  const by = stretch(whole, Math.min(whole, maxHeight), viewHeight);
  const at = scrollTop * by;
  if (row * rowHeight < at) return (row * rowHeight) / by;
  if ((row + 1) * rowHeight > at + viewHeight) return ((row + 1) * rowHeight - viewHeight) / by;
  return scrollTop;
}

/** Returns the px of rows per px of the scroll bar. */
function stretch(whole: number, height: number, viewHeight: number): number {
  return height > viewHeight ? (whole - viewHeight) / (height - viewHeight) : 1;
}
