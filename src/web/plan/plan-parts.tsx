import { Confirm } from "../dialog/confirm.tsx";
import { useOtherChange } from "./control/use-other-change.ts";
import type { PlanControl } from "./control/use-plan.ts";
import { JobProgress } from "./job-progress.tsx";
import { StopQuestion } from "./stop-question.tsx";

interface ProgressProps {
  readonly lab: string;
  readonly control: PlanControl;
  readonly mayChange: boolean;
}

/** Shows the request that this page runs, and a change of the lab that runs elsewhere. */
export function Progress({ lab, control: { state, cancel }, mayChange }: ProgressProps) {
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
export function Question({ control: { state, dispatch, apply, takeOver } }: { readonly control: PlanControl }) {
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
