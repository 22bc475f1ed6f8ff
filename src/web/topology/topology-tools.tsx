import type { ComponentChildren } from "preact";
import type { Graph } from "./graph/graph.ts";
import { Search } from "./search.tsx";
import { zoomInFactor, zoomOutFactor } from "./topology-keys.ts";
import type { Stage } from "./use-stage.ts";

interface TopologyToolsProps {
  readonly graph: Graph;
  readonly stage: Stage;
  /** Called with the id of the node that the search found. */
  readonly onFound: (id: string | undefined) => void;
  readonly onChosen: (id: string) => void;
  /** Further tools. */
  readonly children: ComponentChildren;
}

/** The tools above the drawing. */
export function TopologyTools({ graph, stage, onFound, onChosen, children }: TopologyToolsProps) {
  return (
    <div class="tools">
      <Search nodes={graph.nodes} onFound={onFound} onChosen={onChosen} />
      <button type="button" onClick={() => stage.zoom(zoomInFactor)} aria-label="Zoom in">
        +
      </button>
      <button type="button" onClick={() => stage.zoom(zoomOutFactor)} aria-label="Zoom out">
        −
      </button>
      <button type="button" onClick={stage.fit}>
        Show all
      </button>
      {children}
    </div>
  );
}
