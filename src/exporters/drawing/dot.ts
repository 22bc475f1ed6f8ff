import type { Lab } from "../../intent/lab/lab.ts";
import { drawingOf, type Shape } from "./drawing.ts";

const shapes: Readonly<Record<Shape, string>> = {
  router: "ellipse",
  switch: "box",
  host: "house",
  bridge: "hexagon",
  cloud: "doublecircle",
};

/** Returns a lab as a graph of Graphviz. Graphviz ignores `template` and `network`, which let Labwright read the graph again. */
export function dotText(lab: Lab): string {
  const { title, members, links } = drawingOf(lab);
  const networks = new Set(lab.networks.map(({ key }) => key));
  const lines = [
    `graph ${quoted(title)} {`,
    "  graph [layout=neato, inputscale=72, overlap=false, splines=true];",
    "  node [fontname=Helvetica];",
    "  edge [fontname=Helvetica, fontsize=9];",
    ...members.map(({ key, label, shape, type, place }) =>
      statement(quoted(key), {
        label: label === key ? undefined : label,
        shape: shapes[shape],
        [networks.has(key) ? "network" : "template"]: type,
        pos: `${place.x},${-place.y}!`,
      }),
    ),
    ...links.map((link) =>
      statement(`${quoted(link.from)} -- ${quoted(link.to)}`, {
        taillabel: link.fromInterface || undefined,
        headlabel: link.toInterface || undefined,
        label: link.quality || undefined,
        style: link.isSuspended ? "dashed" : undefined,
      }),
    ),
    "}",
  ];
  return `${lines.join("\n")}\n`;
}

function statement(subject: string, attributes: Readonly<Record<string, string | undefined>>): string {
  const parts = Object.entries(attributes).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${quoted(value)}`]));
  return `  ${subject}${parts.length === 0 ? "" : ` [${parts.join(", ")}]`};`;
}

function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
}
