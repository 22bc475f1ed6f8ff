import type { ExampleLab } from "./example-lab.ts";

const margin = 30;

/** A small drawing of a lab: its nodes as dots, its links as lines. */
export function Thumbnail({ example: { name, places, links } }: { readonly example: ExampleLab }) {
  const at = new Map(places.map(([key, x, y]) => [key, { x, y }]));
  const [xs, ys] = [places.map(([, x]) => x), places.map(([, , y]) => y)];
  const [left, top] = [Math.min(...xs) - margin, Math.min(...ys) - margin];
  const [width, height] = [Math.max(...xs) - left + margin, Math.max(...ys) - top + margin];
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
