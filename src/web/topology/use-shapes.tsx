import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { LiveNodeData } from "../../contract/schemas/observe.ts";
import type { Graph, GraphNode } from "./graph/graph.ts";
import { linkShapes } from "./graph/link-shapes.ts";
import { LinkLine } from "./link-line.tsx";
import { memoByKey } from "./memo-by-key.ts";
import { NodeShape } from "./node-shape.tsx";

interface ShapesOptions {
  readonly graph: Graph;
  readonly nodes: ReadonlyMap<string, GraphNode>;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  /** A node's id, or "link:" and a link's id. */
  readonly selected: string | undefined;
  /** Id of the node that the search found. */
  readonly found: string | undefined;
  /** Must stay valid over renders: a memoised shape keeps the function of its first render. */
  readonly onSelect: (id: string, byKeyboard?: boolean) => void;
  readonly onOpen: (id: string) => void;
}

/**
 * Returns the shapes of links and nodes, memoised by their inputs. Each inspection creates new objects, so a comparison by identity would render all of
 * them each time.
 */
export function useShapes({ graph, nodes, live, selected, found, onSelect, onOpen }: ShapesOptions): readonly VNode[] {
  const drawn = useMemo(() => linkShapes(graph.links, nodes), [graph]);
  const memo = useMemo(() => memoByKey<VNode>(), []);
  return useMemo(
    () => [
      ...graph.links.map((link) => {
        const [shape, id] = [drawn.get(link.id)!, `link:${link.id}`];
        const isSelected = selected === id;
        return memo(id, [JSON.stringify([link, shape]), isSelected], () => (
          <LinkLine key={id} link={link} shape={shape} selected={isSelected} onSelect={onSelect} />
        ));
      }),
      ...graph.nodes.map((node) => {
        const [status, isSelected, isFound] = [live.get(node.id)?.status, selected === node.id, found === node.id];
        return memo(node.id, [JSON.stringify(node), status, isSelected, isFound], () => (
          <NodeShape key={node.id} node={node} status={status} selected={isSelected} found={isFound} onSelect={onSelect} onOpen={onOpen} />
        ));
      }),
    ],
    [graph, live, selected, found],
  );
}
