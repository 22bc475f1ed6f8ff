import type { GraphLink, GraphNode } from "./graph.ts";
import { type Box, type LinkShape, linkShape, portBox } from "./link-shape.ts";

/** How each link is drawn, by id. Names of interfaces that meet at a node stand beside each other, not on each other. */
export function linkShapes(
  links: readonly Pick<GraphLink, "id" | "from" | "to" | "fromInterface" | "toInterface" | "lane" | "lanes">[],
  nodes: ReadonlyMap<string, Pick<GraphNode, "at" | "label" | "kind">>,
): ReadonlyMap<string, LinkShape> {
  /** What is written already around each node. */
  const written = new Map<string, Box[]>();
  const around = (node: string): Box[] => {
    const boxes = written.get(node) ?? [];
    written.set(node, boxes);
    return boxes;
  };
  return new Map(
    links.map((link) => {
      const [from, to] = [around(link.from), around(link.to)];
      const shape = linkShape(link, nodes.get(link.from)!, nodes.get(link.to)!, { from, to });
      if (link.fromInterface !== "") from.push(portBox(shape.fromPort, link.fromInterface));
      if (link.toInterface !== "") to.push(portBox(shape.toPort, link.toInterface));
      return [link.id, shape];
    }),
  );
}
