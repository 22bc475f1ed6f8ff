/** Of a list that is scrolled, only so many rows are drawn as are seen. */
export interface RowWindow {
  /** First row that is drawn. */
  readonly first: number;
  /** The row behind the last that is drawn. */
  readonly end: number;
  /** Where the first one stands, px from the top of all; negative where rows are scrolled proportionally. */
  readonly top: number;
  /** Of all rows, as far as a browser can scroll, px. */
  readonly height: number;
}

export interface RowView {
  readonly count: number;
  /** Of each row, px. */
  readonly rowHeight: number;
  /** Of the part that is seen, px. */
  readonly viewHeight: number;
  readonly scrollTop: number;
}

/** Rows beyond each edge that are drawn already, so that a quick scroll finds them. */
const beyond = 8;
/** Browsers know no taller elements, px; Firefox the least of them. More rows than fit are scrolled proportionally. */
const tallest = 15_000_000;

export function rowWindow({ count, rowHeight, viewHeight, scrollTop }: RowView): RowWindow {
  const whole = count * rowHeight;
  const height = Math.min(whole, tallest);
  const at = scrollTop * stretch(whole, height, viewHeight);
  const first = Math.max(0, Math.floor(at / rowHeight) - beyond);
  const end = Math.min(count, Math.ceil((at + viewHeight) / rowHeight) + beyond);
  return { first: Math.min(first, count), end, top: scrollTop - (at - first * rowHeight), height };
}

/** Where to scroll to, so that a row is seen whole: there already, or as little as it takes. */
export function scrollTo(row: number, { count, rowHeight, viewHeight, scrollTop }: RowView): number {
  const whole = count * rowHeight;
  const by = stretch(whole, Math.min(whole, tallest), viewHeight);
  const at = scrollTop * by;
  if (row * rowHeight < at) return (row * rowHeight) / by;
  if ((row + 1) * rowHeight > at + viewHeight) return ((row + 1) * rowHeight - viewHeight) / by;
  return scrollTop;
}

/** Px of rows for one of the scroll bar. */
function stretch(whole: number, height: number, viewHeight: number): number {
  return height > viewHeight ? (whole - viewHeight) / (height - viewHeight) : 1;
}
