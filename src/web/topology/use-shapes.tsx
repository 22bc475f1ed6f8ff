import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { LiveNodeData } from "../../contract/schemas/observe.ts";
import type { Graph, GraphNode } from "./graph/graph.ts";
import { linkShapes } from "./graph/link-shapes.ts";
import { shownStatus } from "./graph/shown-status.ts";
import { LinkLine } from "./link-line.tsx";
import { memoByKey } from "./memo-by-key.ts";
import { NodeShape } from "./node-shape.tsx";

/** How a shape was selected: with the keyboard, so that the focus moves to the panel, or in addition to the selected ones. */
export interface SelectHow {
  readonly byKeyboard?: boolean;
  readonly add?: boolean;
}
export type OnSelectShape = (id: string, how: SelectHow) => void;

interface ShapesOptions {
  readonly graph: Graph;
  readonly nodes: ReadonlyMap<string, GraphNode>;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  /** Ids of nodes, and "link:" and the id of links. */
  readonly selected: ReadonlySet<string>;
  /** Whether nodes show a plug, from which a link is drawn. */
  readonly hasPlugs: boolean;
  /** Id of the node that the search found. */
  readonly found: string | undefined;
  /** Must stay valid over renders: a memoised shape keeps the function of its first render. */
  readonly onSelect: OnSelectShape;
  readonly onOpen: (id: string) => void;
}

/**
 * Returns the shapes of links and nodes, memoised by their inputs. Each inspection creates new objects, so a comparison by identity would render all of
 * them each time.
 */
export function useShapes({ graph, nodes, live, selected, hasPlugs, found, onSelect, onOpen }: ShapesOptions): readonly VNode[] {
  const drawn = useMemo(() => linkShapes(graph.links, nodes), [graph]);
  const memo = useMemo(() => memoByKey<VNode>(), []);
  return useMemo(
    () => [
      ...graph.links.map((link) => {
        const [shape, id] = [drawn.get(link.id)!, `link:${link.id}`];
        const isSelected = selected.has(id);
        return memo(id, [JSON.stringify([link, shape]), isSelected], () => (
          <LinkLine key={id} link={link} shape={shape} selected={isSelected} onSelect={onSelect} />
        ));
      }),
      ...graph.nodes.map((node) => {
        const one = live.get(node.id);
        const [status, isSelected, isFound] = [one && shownStatus(one), selected.has(node.id), found === node.id];
        return memo(node.id, [JSON.stringify(node), status, isSelected, isFound, hasPlugs], () => (
          <NodeShape
            key={node.id}
            node={node}
            status={status}
            selected={isSelected}
            found={isFound}
            hasPlug={hasPlugs}
            onSelect={onSelect}
            onOpen={onOpen}
          />
        ));
      }),
    ],
    [graph, live, selected, found, hasPlugs],
  );
}
