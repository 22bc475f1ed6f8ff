import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { LiveNodeData } from "../../contract/schemas/observe.ts";
import type { Graph, GraphNode } from "./graph/graph.ts";
import { linkShapes } from "./graph/link-shapes.ts";
import { shownStatus } from "./graph/shown-status.ts";
import { LinkLine } from "./parts/link-line.tsx";
import { memoByKey } from "./parts/memo-by-key.ts";
import { NodeShape } from "./parts/node-shape.tsx";
import type { OnSelectShape } from "./parts/select-how.ts";

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
  /** Keys of the links that are captured. */
  readonly captured: ReadonlySet<string>;
  /** Shows the packets of a link, by its id; absent: the user cannot capture. */
  readonly onPackets: ((id: string) => void) | undefined;
}

/** Nodes are above links, but come before them in the page, so that the keyboard and screen readers reach them first. */
export interface Shapes {
  readonly nodes: readonly VNode[];
  readonly links: readonly VNode[];
}

/**
 * Returns the shapes of links and nodes, memoised by their inputs. Each inspection creates new objects, so a comparison by identity would render all of
 * them each time.
 */
export function useShapes(options: ShapesOptions): Shapes {
  const { graph, nodes, live, selected, hasPlugs, found, onSelect, onOpen, captured, onPackets } = options;
  const drawn = useMemo(() => linkShapes(graph.links, nodes), [graph]);
  const memo = useMemo(() => memoByKey<VNode>(), []);
  return useMemo(
    () => ({
      links: graph.links.map((link) => {
        const [shape, id] = [drawn.get(link.id)!, `link:${link.id}`];
        const [isSelected, isCaptured] = [selected.has(id), captured.has(link.key)];
        const onShow = link.mark === "created" ? undefined : onPackets;
        return memo(id, [JSON.stringify([link, shape]), isSelected, isCaptured, onShow !== undefined], () => (
          <LinkLine
            key={id}
            link={link}
            shape={shape}
            selected={isSelected}
            onSelect={onSelect}
            isCaptured={isCaptured}
            onPackets={onShow}
          />
        ));
      }),
      nodes: graph.nodes.map((node) => {
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
    }),
    [graph, live, selected, found, hasPlugs, captured, onPackets !== undefined],
  );
}
