import { useEffect, useRef } from "preact/hooks";
import type { InspectionData, LiveNodeData } from "../../contract/schemas/observe.ts";
import type { PlanData } from "../../contract/schemas/plan.ts";
import { IntentDiff } from "../intent/intent-diff.tsx";
import { differences } from "../labs/differences.ts";
import { Problem } from "../parts/problem.tsx";
import { isEdited, isPlanCurrent } from "./control/plan-state.ts";
import type { PlanControl } from "./control/use-plan.ts";
import { fixIn, ProblemList } from "./editor/problem-list.tsx";
import NewerIntent from "./newer-intent.tsx";
import { PlanButtons } from "./plan-buttons.tsx";
import { Progress, Question } from "./plan-parts.tsx";
import { PlanResult } from "./plan-result.tsx";
import { SideFiles } from "./side-files.tsx";
import { useEditor } from "./use-editor.ts";
import "./plan.css";

interface PlanPageProps {
  readonly lab: string;
  readonly inspection: InspectionData;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  readonly control: PlanControl;
  /** The plan of the stored text; undefined: not known yet. */
  readonly drift: PlanData | undefined;
}

/** The editor of a lab's text, the effect of applying it, and its application. */
export default function PlanPage(props: PlanPageProps) {
  const { state, readError, readAgain } = props.control;
  if (state.isLoaded) return <PlanEditor {...props} />;
  return readError === undefined ? <p class="waiting">Reading the text…</p> : <Problem error={readError} retry={readAgain} />;
}

function PlanEditor({ lab, inspection, live, control, drift }: PlanPageProps) {
  const mayChange = control.mayEdit;
  const { state, dispatch } = control;
  const { computed, running, takenOver, notice, error, newer } = state;
  const [editor, goToLine, problems] = useEditor(state, dispatch, mayChange);
  usePlanOfDrift(control, drift);
  const isUntouched =
    computed === undefined && takenOver === undefined && running === undefined && error === undefined && notice.text === "";
  return (
    <div class="plan">
      <div class="plan-text">
        <div ref={editor} class="editor" />
        <ProblemList problems={problems} text={state.intent.yaml} onLine={goToLine} onFix={mayChange ? fixIn(control) : undefined} />
        <SideFiles
          files={state.intent.files}
          readOnly={!mayChange}
          onChange={(path, content) => dispatch({ type: "file-changed", path, content })}
        />
      </div>
      <div class="plan-side">
        <PlanButtons control={control} mayChange={mayChange} />
        <Progress lab={lab} control={control} mayChange={mayChange} />
        <output class={notice.isWarning === true ? "warning" : ""}>{notice.text}</output>
        {error !== undefined && <Problem error={error} />}
        {newer !== undefined && <NewerIntent base={state.base} mine={state.intent} theirs={newer} dispatch={dispatch} />}
        {isUntouched && (
          <p class="hint">
            Edit the text, then press Plan. The plan shows the effect of applying the text, as a list and in the drawing; nothing is applied
            yet. Ctrl+Space completes words.
          </p>
        )}
        {computed !== undefined && !isPlanCurrent(state) && (
          <p class="mark warn">The text or an option changed after this plan was computed. Plan again to apply.</p>
        )}
        {computed !== undefined && <PlanResult computed={computed} inspection={inspection} live={live} onLine={goToLine} />}
        {takenOver !== undefined && (
          <IntentDiff before={takenOver.before} after={takenOver.after} titles={["Before", "With the host's changes"]} />
        )}
      </div>
      <Question control={control} />
    </div>
  );
}

/** Shows what is different on the host when the page opens, if nothing was edited or planned before. */
function usePlanOfDrift({ state, peek }: PlanControl, drift: PlanData | undefined): void {
  const isCompared = useRef(false);
  useEffect(() => {
    // Later differences may be those of a change that runs: they must not replace what the page shows.
    if (drift === undefined || isCompared.current) return;
    isCompared.current = true;
    if (differences(drift) > 0 && state.computed === undefined && state.running === undefined && !isEdited(state)) peek();
  }, [drift]);
}
