import { blockedReason, isEdited, isPlanCurrent } from "./control/plan-state.ts";
import type { PlanControl } from "./control/use-plan.ts";

/** The buttons and choices of the plan page. Without the right to change the lab there is only the button to plan. */
export function PlanButtons({ control, mayChange }: { readonly control: PlanControl; readonly mayChange: boolean }) {
  const { state, dispatch, plan, readHost, apply, save } = control;
  const { running, options, computed } = state;
  const shown = computed?.plan;
  const isBusy = running !== undefined;
  const isCurrent = isPlanCurrent(state);
  const fromHost = shown?.direction === "from_host";
  const actionCount = (shown?.actions ?? []).length;
  const blocked = blockedReason(state);
  const hasWork = actionCount > 0 || shown?.exists === false;
  return (
    <div class="buttons">
      <button type="button" class={isCurrent ? "" : "primary"} disabled={isBusy} onClick={plan}>
        Plan
      </button>
      {mayChange && (
        <>
          <button
            type="button"
            class={isCurrent && hasWork ? "primary" : ""}
            disabled={isBusy || blocked !== undefined || !isCurrent || fromHost || !hasWork || shown?.applicable !== true}
            title={blocked}
            onClick={() => apply(false)}
          >
            Apply
          </button>
          <button
            type="button"
            disabled={isBusy || blocked !== undefined || !isEdited(state)}
            onClick={save}
            title={blocked ?? "Store the text without applying it; the host is not changed"}
          >
            Save
          </button>
          <button type="button" disabled={isBusy} onClick={readHost}>
            Show the host's changes
          </button>
          {fromHost && actionCount > 0 && (
            <button
              type="button"
              class="primary"
              disabled={isBusy || !isCurrent}
              onClick={() => dispatch({ type: "asked", question: "take-over" })}
            >
              Take over…
            </button>
          )}
          <label class="choice">
            <input
              type="checkbox"
              checked={options.prune}
              onChange={(event) => dispatch({ type: "option-changed", option: { prune: event.currentTarget.checked } })}
            />
            Delete parts that are not in the text (prune)
          </label>
          {(options.allowUnsupported || (!fromHost && (shown?.unsupported ?? []).length > 0)) && (
            <label class="choice">
              <input
                type="checkbox"
                checked={options.allowUnsupported}
                onChange={(event) => dispatch({ type: "option-changed", option: { allowUnsupported: event.currentTarget.checked } })}
              />
              Apply without the parts that the host does not support
            </label>
          )}
        </>
      )}
    </div>
  );
}
