import type { Graph } from "./graph/graph.ts";

/** Describes the drawing to people who do not see it. */
export function describe({ nodes, links, shapes }: Graph): string {
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;
  const networks = nodes.filter(({ kind }) => kind === "network").length;
  const suspended = links.filter((link) => link.suspended).length;
  const impaired = links.filter(({ quality }) => quality !== "").length;
  const parts = [
    count(nodes.length - networks, "node"),
    ...(networks > 0 ? [count(networks, "network")] : []),
    count(links.length, "link"),
    ...(suspended > 0 ? [`${suspended} of them suspended`] : []),
    ...(impaired > 0 ? [`${impaired} impaired`] : []),
    ...(shapes.length > 0 ? [count(shapes.length, "shape")] : []),
  ];
  return `${parts.join(", ")}.`;
}
