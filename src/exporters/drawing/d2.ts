import type { Lab } from "../../intent/lab/lab.ts";
import { drawingOf, type Shape } from "./drawing.ts";

const shapes: Readonly<Record<Shape, string>> = {
  router: "circle",
  switch: "square",
  host: "rectangle",
  bridge: "hexagon",
  cloud: "cloud",
};

/** Returns a lab as a diagram of D2. */
export function d2Text(lab: Lab): string {
  const { title, members, links } = drawingOf(lab);
  const lines = [
    `# ${title}`,
    "direction: right",
    ...members.map(({ key, label, shape, type }) => `${quoted(key)}: ${quoted(label)} {shape: ${shapes[shape]}; tooltip: ${quoted(type)}}`),
    ...links.map((link) => {
      const styles = [
        ...(link.fromInterface === "" ? [] : [`source-arrowhead: ${quoted(link.fromInterface)}`]),
        ...(link.toInterface === "" ? [] : [`target-arrowhead: ${quoted(link.toInterface)}`]),
        ...(link.isSuspended ? ["style.stroke-dash: 4"] : []),
      ];
      const label = link.quality === "" ? "" : `${quoted(link.quality)} `;
      return `${quoted(link.from)} -- ${quoted(link.to)}: ${label}${styles.length === 0 ? "" : `{${styles.join("; ")}}`}`
        .trimEnd()
        .replace(/:$/, "");
    }),
  ];
  return `${lines.join("\n")}\n`;
}

/** In double quotes, D2 replaces ${…} by variables. */
function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n").replaceAll("$", "\\$")}"`;
}
