import { loadWindowMs } from "./load-history.ts";
import "./sparkline.css";

interface SparklineProps {
  /** Describes it for screen readers. */
  readonly label: string;
  /** Oldest first; `at` in ms since the epoch. */
  readonly points: readonly { readonly at: number; readonly value: number }[];
  /** The value at the top; a larger value of the points is at the top instead. */
  readonly top?: number;
}

const [width, height] = [60, 18];

/** A small graph of the last two minutes. Empty with fewer than two points. */
export function Sparkline({ label, points, top = 0 }: SparklineProps) {
  const newest = points.at(-1);
  if (newest === undefined || points.length < 2) return null;
  const max = points.reduce((most, { value }) => Math.max(most, value), top) || 1;
  const x = (at: number) => (width * (1 - (newest.at - at) / loadWindowMs)).toFixed(1);
  const y = (value: number) => (height - 1 - (value / max) * (height - 2)).toFixed(1);
  return (
    <svg class="sparkline" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <polyline points={points.map(({ at, value }) => `${x(at)},${y(value)}`).join(" ")} />
    </svg>
  );
}
