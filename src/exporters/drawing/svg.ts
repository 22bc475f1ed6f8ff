import type { Lab } from "../../intent/lab/lab.ts";
import type { Place } from "../../layout/layout.ts";
import { cornersOf, svgShape } from "../shared/svg-shape.ts";
import { xmlText } from "../shared/xml-text.ts";
import { type DrawnLink, drawingOf, type Member, type Shape } from "./drawing.ts";

/** Half the size of a node, px. */
const half = 22;
const margin = 60;

const glyphs: Readonly<Record<Shape, string>> = {
  router: `<circle r="${half}" class="shape"/><path class="glyph" d="M-12 0h24M0-12v24M-8-4l-4 4 4 4M8-4l4 4-4 4M-4-8l4-4 4 4M-4 8l4 4 4-4"/>`,
  switch: `<rect x="-${half}" y="-${half}" width="${2 * half}" height="${2 * half}" rx="4" class="shape"/><path class="glyph" d="M-12-7h22l-5-4M12 7h-22l5 4"/>`,
  host: `<rect x="-${half}" y="-17" width="${2 * half}" height="28" rx="3" class="shape"/><path class="glyph" d="M0 11v7M-10 18h20"/>`,
  bridge: `<path class="shape" d="M-${half} 0l9-12h26l9 12-9 12h-26z"/><path class="glyph" d="M-12 0h24"/>`,
  cloud: `<path class="shape" d="M-16 12a9 9 0 0 1 0-18 12 12 0 0 1 22-5 10 10 0 0 1 12 23z"/>`,
};

const style = `text{font:12px system-ui,sans-serif;fill:#1f2937}.end{font-size:10px;fill:#4b5563}.name{text-anchor:middle}.link{stroke:#6b7280;stroke-width:1.5;fill:none}.suspended{stroke-dasharray:5 4}.shape{fill:#e0ecff;stroke:#2563eb;stroke-width:1.5}.glyph{stroke:#2563eb;stroke-width:1.5;fill:none}.label{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round;text-anchor:middle}`;

/** Returns a lab as a picture, placed as on the pages. It has no scripts, no fonts and no references. */
export function svgText(lab: Lab): string {
  const { title, members, links, texts, shapes } = drawingOf(lab);
  const places = new Map(members.map(({ key, place }) => [key, place]));
  const lanes = lanesOf(links);
  const lines = texts.map(({ text, x, y }) => ({ x, y, rows: text.split("\n") }));
  const box = boxOf([
    ...members.map(({ place }) => place),
    ...cornersOf(shapes),
    ...lines.flatMap(({ x, y, rows }) => [
      { x, y },
      { x: x + 7 * Math.max(...rows.map((row) => row.length)), y: y + 15 * rows.length },
    ]),
  ]);
  const parts = [
    ...shapes.map((shape) => svgShape(shape, { x: 0, y: 0 })),
    ...links.map((link, index) => drawLink(link, places, lanes[index] ?? 0)),
    ...members.map(drawMember),
    ...lines.map(({ x, y, rows }) => {
      const spans = rows.map((row, at) => `<tspan x="${x}" dy="${at === 0 ? 12 : 15}">${xmlText(row)}</tspan>`);
      return `<text x="${x}" y="${y}">${spans.join("")}</text>`;
    }),
  ];
  const size = `width="${box.width}" height="${box.height}" viewBox="${box.x} ${box.y} ${box.width} ${box.height}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>
<title>${xmlText(title)}</title>
<style>${style}</style>
<rect x="${box.x}" y="${box.y}" width="${box.width}" height="${box.height}" fill="#fff"/>
${parts.join("\n")}
</svg>
`;
}

function drawMember({ label, shape, place, type }: Member): string {
  const name = `<text class="name label" y="${half + 15}">${xmlText(label)}</text>`;
  return `<g transform="translate(${place.x} ${place.y})"><title>${xmlText(`${label}: ${type}`)}</title>${glyphs[shape]}${name}</g>`;
}

/** Links between the same nodes lie side by side. */
function lanesOf(links: readonly DrawnLink[]): readonly number[] {
  const pair = ({ from, to }: DrawnLink) => (from < to ? `${from}\0${to}` : `${to}\0${from}`);
  const counts = new Map<string, number>();
  for (const link of links) counts.set(pair(link), (counts.get(pair(link)) ?? 0) + 1);
  const seen = new Map<string, number>();
  return links.map((link) => {
    const number = seen.get(pair(link)) ?? 0;
    seen.set(pair(link), number + 1);
    const lane = (number - ((counts.get(pair(link)) ?? 1) - 1) / 2) * 18;
    return link.from < link.to ? lane : -lane;
  });
}

function drawLink(link: DrawnLink, places: ReadonlyMap<string, Place>, lane: number): string {
  const [a, b] = [link.from, link.to].map((key) => places.get(key) ?? { x: 0, y: 0 }) as [Place, Place];
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const [dx, dy] = [(b.x - a.x) / length, (b.y - a.y) / length];
  const at = (distance: number): Place => ({ x: round(a.x + dx * distance - dy * lane), y: round(a.y + dy * distance + dx * lane) });
  const [start, end] = [at(0), at(length)];
  // Below a node is its name.
  const distance = (downwards: number) => Math.min(half + (downwards > 0.7 ? 30 : 16), length / 3);
  const label = (place: Place, text: string, kind = "end") =>
    text === "" ? "" : `<text class="${kind} label" x="${place.x}" y="${place.y + 3}">${xmlText(text)}</text>`;
  return [
    `<path class="link${link.isSuspended ? " suspended" : ""}" d="M${start.x} ${start.y}L${end.x} ${end.y}"/>`,
    label(at(distance(dy)), link.fromInterface),
    label(at(length - distance(-dy)), link.toInterface),
    label(at(length / 2), link.quality),
  ].join("");
}

function boxOf(places: readonly Place[]): { readonly x: number; readonly y: number; readonly width: number; readonly height: number } {
  if (places.length === 0) return { x: 0, y: 0, width: 2 * margin, height: 2 * margin };
  const [xs, ys] = [places.map(({ x }) => x), places.map(({ y }) => y)];
  const least = (list: readonly number[]) => list.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
  const most = (list: readonly number[]) => list.reduce((one, other) => Math.max(one, other), Number.NEGATIVE_INFINITY);
  const [x, y] = [Math.floor(least(xs)) - margin, Math.floor(least(ys)) - margin];
  return { x, y, width: Math.ceil(most(xs)) + margin - x, height: Math.ceil(most(ys)) + margin - y };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
