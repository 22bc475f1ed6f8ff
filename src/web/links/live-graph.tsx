export interface GraphLine {
  /** Of the style: live-a, live-b. */
  readonly class: string;
  /** Oldest first; `at` from 0 (left) to 1 (right), values from 0 on. */
  readonly points: readonly { readonly at: number; readonly value: number }[];
  /** Marks without a line between them. */
  readonly dots?: boolean;
}

interface LiveGraphProps {
  /** What it shows, with its newest values, for who does not see it. */
  readonly label: string;
  /** Of a value, at the top of the graph. */
  readonly words: (value: number) => string;
  readonly lines: readonly GraphLine[];
}

const [width, height] = [300, 64];

/** A minute of something, as lines. The highest value touches the top, and is told there. */
export function LiveGraph({ label, words, lines }: LiveGraphProps) {
  const top = lines.reduce((most, { points }) => points.reduce((max, { value }) => Math.max(max, value), most), 0);
  const x = (at: number) => (at * width).toFixed(1);
  const y = (value: number) => (height - 2 - (top === 0 ? 0 : value / top) * (height - 4)).toFixed(1);
  return (
    <figure class="live-graph">
      <figcaption>{top === 0 ? "" : words(top)}</figcaption>
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
