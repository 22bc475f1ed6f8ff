import type { GraphLink, GraphNode } from "./graph.ts";
import { type Box, type LinkShape, linkShape, portBox } from "./link-shape.ts";

/** Returns the shape of each link, by id. Interface names at the same node do not cover each other. */
export function linkShapes(
  links: readonly Pick<GraphLink, "id" | "from" | "to" | "fromInterface" | "toInterface" | "lane" | "lanes">[],
  nodes: ReadonlyMap<string, Pick<GraphNode, "at" | "label" | "kind">>,
): ReadonlyMap<string, LinkShape> {
  /** Boxes of the names that are already placed around each node. */
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
