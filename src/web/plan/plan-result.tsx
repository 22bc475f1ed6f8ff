import { useMemo } from "preact/hooks";
import type { InspectionData, LiveNodeData } from "../../contract/schemas/observe.ts";
import { cachedLayout } from "../../layout/cached-layout.ts";
import { graphOf } from "../topology/graph/graph.ts";
import { markText, planMarks } from "../topology/graph/plan-marks.ts";
import { Topology } from "../topology/topology.tsx";
import type { ComputedPlan } from "./control/plan-state.ts";
import { PlanList } from "./plan-list.tsx";

interface PlanResultProps {
  readonly computed: ComputedPlan;
  readonly inspection: InspectionData;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  /** Goes to a line of the text. */
  readonly onLine: (line: number) => void;
}

/** Shows a plan as a list, and its effect on the lab in the drawing. */
export function PlanResult({ computed: { plan, options }, inspection, live, onLine }: PlanResultProps) {
  const fromHost = plan.direction === "from_host";
  const { actions = [] } = plan;
  const layout = useMemo(cachedLayout, []);
  const graph = useMemo(() => graphOf(inspection, { actions: fromHost ? [] : actions, layout }), [inspection, plan]);
  const marks = useMemo(() => [...new Set(planMarks(actions).values())].sort(), [plan]);
  return (
    <>
      <h2>{fromHost ? "Changes of the host that are not in the text" : "Effect of applying the text"}</h2>
      {plan.locked === true && <p class="mark warn">The lab is locked on its host: nothing can be applied.</p>}
      <PlanList plan={plan} skipsUnsupported={options.allowUnsupported} onLine={onLine} />
      {!fromHost && actions.length > 0 && (
        <>
          <ul class="legend">
            {marks.map((mark) => (
              <li key={mark} class={`plan-${mark}`}>
                {markText[mark]}
              </li>
            ))}
          </ul>
          <Topology graph={graph} live={live} onSelect={() => undefined} />
        </>
      )}
    </>
  );
}
