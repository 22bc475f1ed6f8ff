import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Diagnostic } from "../../contract/schemas/project.ts";
import { lazy } from "../parts/lazy.tsx";
import { Problem } from "../parts/problem.tsx";
import { changeSummary, refusalText } from "./change-summary.ts";
import { blockedReason, isEdited } from "./control/plan-state.ts";
import type { PlanControl } from "./control/use-plan.ts";
import type { Preview } from "./control/use-preview.ts";
import { fixIn, ProblemList } from "./editor/problem-list.tsx";
import { Progress, Question } from "./plan-parts.tsx";
import "./plan.css";

interface ChangeBarProps {
  readonly lab: string;
  readonly control: PlanControl;
  readonly preview: Preview;
  /** Shows a line of the text. */
  readonly onLine: (line: number) => void;
}

const none: readonly Diagnostic[] = [];

/** A result covers the drawing for this time, ms. Afterwards it is in the list of jobs; a warning stays. */
const noticeMs = 10_000;

/** Loaded when two texts must be compared. */
const NewerIntent = lazy(() => import("./newer-intent.tsx"));

/** Loaded when the details are opened. */
const PlanList = lazy(async () => ({ default: (await import("./plan-list.tsx")).PlanList }));

const IntentDiff = lazy(async () => ({ default: (await import("../intent/intent-diff.tsx")).IntentDiff }));

/** The effect of applying the text, and the buttons to apply, save or discard it. Empty if the host has all of the text. */
export function ChangeBar({ lab, control, preview, onLine }: ChangeBarProps) {
  const { state, dispatch, applySeen, save } = control;
  const { running, notice, error, newer } = state;
  const edited = isEdited(state);
  const { plan } = preview;
  const isBusy = running !== undefined;
  const { bar, keepFocus } = useKeptFocus();
  const isOld = useIsOld(notice, noticeMs);
  const isNoticeShown = notice.text !== "" && (notice.isWarning === true || !isOld);
  // A stored text that the host does not have yet waits for Apply as an edited one does.
  const isShown = !isBusy && (edited || (plan?.actions ?? []).length > 0);
  const blocked = blockedReason(state);
  const mayApply =
    blocked === undefined && plan !== undefined && !preview.isPending && plan.applicable === true && (plan.actions ?? []).length > 0;
  return (
    <>
      {(edited || isShown || isBusy || isNoticeShown || error !== undefined) && (
        <section class="change-bar" aria-label="Changes that are not applied" ref={bar} tabIndex={-1}>
          {isShown && (
            <div class="buttons">
              <Summary preview={preview} />
              <button
                type="button"
                class="primary"
                disabled={!mayApply}
                title={blocked}
                onClick={() => {
                  if (plan === undefined) return;
                  keepFocus();
                  applySeen(plan);
                }}
              >
                Apply
              </button>
              {!edited && (plan?.actions ?? []).some(({ origin }) => origin === "host" || origin === "both") && (
                <button
                  type="button"
                  disabled={preview.isPending}
                  onClick={control.askTakeOver}
                  title="Write the changes that were made on the host into the text"
                >
                  Take over…
                </button>
              )}
              {edited && (
                <>
                  <button
                    type="button"
                    disabled={preview.diagnostics !== undefined || blocked !== undefined}
                    onClick={save}
                    title={blocked ?? "Store the text; the host is not changed"}
                  >
                    Save
                  </button>
                  <button type="button" onClick={() => dispatch({ type: "discarded" })}>
                    Discard
                  </button>
                </>
              )}
            </div>
          )}
          {edited && !isBusy && (
            <ProblemList problems={preview.diagnostics ?? none} text={state.intent.yaml} onLine={onLine} onFix={fixIn(control)} />
          )}
          {isShown && plan !== undefined && <Extra control={control} count={plan.summary?.skipped_prune ?? 0} />}
          {isShown &&
            plan !== undefined &&
            (plan.actions ?? []).length + (plan.unsupported ?? []).length + (plan.blocked ?? []).length > 0 && (
              <details>
                <summary>Details</summary>
                <PlanList plan={plan} skipsUnsupported={state.options.allowUnsupported} onLine={onLine} />
              </details>
            )}
          {edited && !isBusy && <TextChanges control={control} />}
          <Progress lab={lab} control={control} mayChange={control.mayEdit} />
          {isNoticeShown && <output class={notice.isWarning === true ? "warning" : ""}>{notice.text}</output>}
          {error !== undefined && <Problem error={error} />}
          {newer !== undefined && <NewerIntent base={state.base} mine={state.intent} theirs={newer} dispatch={dispatch} />}
        </section>
      )}
      <Question control={control} />
    </>
  );
}

/** Whether a value has been the same for this time, ms. */
function useIsOld(value: unknown, after: number): boolean {
  const [old, setOld] = useState<unknown>();
  useEffect(() => {
    const timer = setTimeout(() => setOld(value), after);
    return () => clearTimeout(timer);
  }, [value]);
  return old === value;
}

/** The button that was pressed goes while the change runs: the focus goes to the section around it, so that keyboards and screen readers stay there. */
function useKeptFocus() {
  const bar = useRef<HTMLElement>(null);
  const isWanted = useRef(false);
  useEffect(() => {
    if (!isWanted.current || document.activeElement !== document.body) return;
    isWanted.current = false;
    bar.current?.focus({ preventScroll: true });
  });
  return {
    bar,
    keepFocus: () => {
      isWanted.current = true;
    },
  };
}

/** Compares the stored text with the edited one, while the section is open. */
function TextChanges({ control: { state } }: { readonly control: PlanControl }) {
  const [open, setOpen] = useState(false);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Changes of the text</summary>
      {open && <IntentDiff before={state.base} after={state.intent} titles={["Stored", "Edited"]} />}
    </details>
  );
}

/** Describes the effect of Apply. */
function Summary({ preview }: Pick<ChangeBarProps, "preview">): ComponentChildren {
  const { plan, diagnostics, error, isPending } = preview;
  if (diagnostics !== undefined) {
    return (
      <span class="warning" role="status">
        The text cannot be planned
      </span>
    );
  }
  if (error !== undefined) return <Problem error={error} />;
  if (plan === undefined) return <span role="status">Computing the effect…</span>;
  const refusal = refusalText(plan);
  return (
    <span role="status" aria-busy={isPending}>
      {changeSummary(plan.actions ?? [], plan.stored)}
      {plan.locked === true && " – the lab is locked on its host"}
      {refusal !== undefined && <span class="warning"> – {refusal}</span>}
    </span>
  );
}

/** Offers to delete parts that only the host has. */
function Extra({ control: { state, dispatch }, count }: { readonly control: PlanControl; readonly count: number }) {
  if (count === 0 && !state.options.prune) return null;
  return (
    <label class="choice">
      <input
        type="checkbox"
        checked={state.options.prune}
        onChange={(event) => dispatch({ type: "option-changed", option: { prune: event.currentTarget.checked } })}
      />
      Delete parts that are not in the text{count > 0 && ` (${count} on the host)`}
    </label>
  );
}
