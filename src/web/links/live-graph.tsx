export interface GraphLine {
  /** CSS class: live-a, live-b or live-rtt. */
  readonly class: string;
  /** Oldest first. `at` is from 0 (left) to 1 (right), `value` is not negative. */
  readonly points: readonly { readonly at: number; readonly value: number }[];
  /** Draws the points as dots, without a line between them. */
  readonly dots?: boolean;
}

interface LiveGraphProps {
  /** Describes the graph with its newest values, for screen readers. */
  readonly label: string;
  /** Formats the highest value. */
  readonly format: (value: number) => string;
  readonly lines: readonly GraphLine[];
}

const [width, height] = [300, 64];

/** A graph of the last minute. The highest value is at the top, and shown there. */
export function LiveGraph({ label, format, lines }: LiveGraphProps) {
  const top = lines.reduce((max, { points }) => points.reduce((inner, { value }) => Math.max(inner, value), max), 0);
  const x = (at: number) => (at * width).toFixed(1);
  const y = (value: number) => (height - 2 - (top === 0 ? 0 : value / top) * (height - 4)).toFixed(1);
  return (
    <figure class="live-graph">
      <figcaption>{top === 0 ? "" : format(top)}</figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {lines.map((line) =>
          line.dots === true ? (
            line.points.map(({ at, value }) => (
              <path key={at} class={`dot-mark ${line.class}`} d={`M${x(at)} ${y(value)}h0`} vector-effect="non-scaling-stroke" />
            ))
          ) : (
            <polyline
              key={line.class}
              class={line.class}
              points={line.points.map(({ at, value }) => `${x(at)},${y(value)}`).join(" ")}
              vector-effect="non-scaling-stroke"
            />
          ),
        )}
      </svg>
    </figure>
  );
}
