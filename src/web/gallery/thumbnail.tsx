import type { ExampleLab } from "./example-lab.ts";

const margin = 30;
/** Small labs are not enlarged beyond this, so that nodes have about the same size in all drawings. */
const leastWidth = 420;
const leastHeight = 200;

/** A small drawing of a lab: its nodes as dots, its links as lines. */
export function Thumbnail({ example: { name, places, links } }: { readonly example: ExampleLab }) {
  const at = new Map(places.map(([key, x, y]) => [key, { x, y }]));
  const [xs, ys] = [places.map(([, x]) => x), places.map(([, , y]) => y)];
  const [width, height] = [Math.max(leastWidth, spanOf(xs) + 2 * margin), Math.max(leastHeight, spanOf(ys) + 2 * margin)];
  const [left, top] = [Math.min(...xs) + spanOf(xs) / 2 - width / 2, Math.min(...ys) + spanOf(ys) / 2 - height / 2];
  return (
    <svg class="thumbnail" viewBox={`${left} ${top} ${width} ${height}`} role="img" aria-label={`Drawing of ${name}`}>
      {links.map(([a, b], index) => {
        const [from, to] = [at.get(a), at.get(b)];
        return from && to ? <line key={index} x1={from.x} y1={from.y} x2={to.x} y2={to.y} /> : null;
      })}
      {places.map(([key, x, y]) => (
        <circle key={key} cx={x} cy={y} r={14} />
      ))}
    </svg>
  );
}

function spanOf(values: readonly number[]): number {
  return Math.max(...values) - Math.min(...values);
}
