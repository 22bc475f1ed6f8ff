import type { InspectionData, LiveNodeData } from "../../contract/schemas/observe.ts";
import { IntentDiff } from "../intent/intent-diff.tsx";
import type { IntentText } from "../intent/intent-text.ts";
import { readIntent } from "../intent/read-intent.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { JobProgress } from "./job-progress.tsx";
import { NewerIntent } from "./newer-intent.tsx";
import { PlanButtons } from "./plan-buttons.tsx";
import { PlanResult } from "./plan-result.tsx";
import { isPlanCurrent } from "./plan-state.ts";
import { SideFiles } from "./side-files.tsx";
import { StopQuestion } from "./stop-question.tsx";
import { useEditor } from "./use-editor.ts";
import { useOtherChange } from "./use-other-change.ts";
import { type PlanControl, usePlan } from "./use-plan.ts";
import "./plan.css";

interface PlanPageProps {
  readonly lab: string;
  readonly inspection: InspectionData;
  readonly live: ReadonlyMap<string, LiveNodeData>;
  readonly mayChange: boolean;
  /** Called when the lab may have changed on the host. */
  readonly onLabChanged: () => void;
}

/** The editor of a lab's text, the effect of applying it, and its application. */
export default function PlanPage(props: PlanPageProps) {
  const { data, error, again } = useAnswer((signal) => readIntent(props.lab, props.mayChange, signal), [props.lab]);
  if (data === undefined) return error === undefined ? <p class="waiting">Reading the text…</p> : <Problem error={error} retry={again} />;
  return <PlanEditor {...props} intent={data.intent} mayChange={data.mayChange} />;
}

function PlanEditor({ lab, inspection, live, mayChange, onLabChanged, intent }: PlanPageProps & { readonly intent: IntentText }) {
  const control = usePlan({ lab, intent, mayChange, onLabChanged });
  const { state, dispatch } = control;
  const { computed, running, takenOver, notice, error, newer } = state;
  const [editor, goToLine] = useEditor(state, dispatch, mayChange);
  const isUntouched =
    computed === undefined && takenOver === undefined && running === undefined && error === undefined && notice.text === "";
  return (
    <div class="plan">
      <div class="plan-text">
        <div ref={editor} class="editor" />
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
        {newer !== undefined && (
          <NewerIntent
            mine={state.intent}
            theirs={newer}
            onTake={() => dispatch({ type: "newer-taken" })}
            onKeep={() => dispatch({ type: "newer-ignored" })}
          />
        )}
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
        {takenOver !== undefined && <IntentDiff before={takenOver.before} after={takenOver.after} />}
      </div>
      <Question control={control} />
    </div>
  );
}

interface ProgressProps {
  readonly lab: string;
  readonly control: PlanControl;
  readonly mayChange: boolean;
}

/** Shows the request that this page runs, and a change of the lab that runs elsewhere. */
function Progress({ lab, control: { state, cancel }, mayChange }: ProgressProps) {
  const { running } = state;
  const job = running?.job;
  const other = useOtherChange(lab, job);
  return (
    <>
      {running !== undefined && <JobProgress {...running} onCancel={job === undefined ? undefined : () => cancel(job)} />}
      {other !== undefined && (
        <JobProgress key={other.job} label={other.label} progress={other} onCancel={mayChange ? () => cancel(other.job) : undefined} />
      )}
    </>
  );
}

/** Asks before nodes stop, and before the host's changes are taken over. */
function Question({ control: { state, dispatch, apply, takeOver } }: { readonly control: PlanControl }) {
  const close = () => dispatch({ type: "answered" });
  const closeAnd = (work: () => void) => () => {
    close();
    work();
  };
  if (state.question === "stop") {
    return <StopQuestion actions={state.computed?.plan.actions ?? []} onCancel={close} onConfirm={closeAnd(() => apply(true))} />;
  }
  if (state.question === undefined) return null;
  return (
    <Confirm title="Take over the host's changes?" action="Take over" onCancel={close} onConfirm={closeAnd(takeOver)}>
      The host's changes are written into the text. Comments and unchanged parts are kept. The host is not changed.
    </Confirm>
  );
}
