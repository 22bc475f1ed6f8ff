import { BoxIndex } from "./box-index.ts";
import type { GraphLink, GraphNode } from "./graph.ts";
import { boxesOf, type LinkShape, linkShape } from "./link-shape.ts";

/** Returns the shape of each link, by id. Interface names do not cover each other, or a node with its label. */
export function linkShapes(
  links: readonly Pick<GraphLink, "id" | "from" | "to" | "fromInterface" | "toInterface" | "lane" | "lanes">[],
  nodes: ReadonlyMap<string, Pick<GraphNode, "at" | "label" | "kind">>,
): ReadonlyMap<string, LinkShape> {
  const index = new BoxIndex();
  for (const node of nodes.values()) for (const box of boxesOf(node)) index.add(box);
  return new Map(links.map((link) => [link.id, linkShape(link, nodes.get(link.from)!, nodes.get(link.to)!, index)]));
}
