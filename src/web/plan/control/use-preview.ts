import { useEffect, useRef, useState } from "preact/hooks";
import { LabwrightError } from "../../../client/browser.ts";
import type { PlanData } from "../../../contract/schemas/plan.ts";
import type { Diagnostic } from "../../../contract/schemas/project.ts";
import { type IntentText, sameIntent } from "../../intent/intent-text.ts";
import { call } from "../../service/api.ts";
import { isEdited } from "./plan-state.ts";
import type { PlanControl } from "./use-plan.ts";

/** The effect of applying the text, computed while it is edited or differs from the host. */
export interface Preview {
  /** The newest plan; it may be of the text before the last edit while `isPending`. */
  readonly plan?: PlanData;
  /** The problems of a text that cannot be planned. */
  readonly diagnostics?: readonly Diagnostic[];
  readonly error?: unknown;
  readonly isPending: boolean;
  /** The text that `plan` is of. */
  readonly intent?: IntentText;
}

/** The preview, and whether the text has parts that the host does not have. */
export interface ShownPreview extends Preview {
  /** Whether the text is drawn: it is edited, or it is stored and not applied. */
  readonly isDrawn: boolean;
}

/** A text is planned when it was not edited for this time, ms. */
const delayMs = 350;
/** A plan that did not reach the service is asked for again after this time, ms. */
const retryMs = 3_000;
const none: Preview = { isPending: false };

/**
 * Returns whether the text has changes that the host does not have: edited ones, or stored ones.
 * @param drift the plan of the stored text
 */
export function isUnapplied(edited: boolean, intent: IntentText, preview: Preview, drift: PlanData | undefined): boolean {
  // The stored text is compared a moment after Save: until then the plan of the same text is the answer.
  const isOfText = preview.intent !== undefined && sameIntent(preview.intent, intent);
  return edited || hasWork(drift) || (isOfText && hasWork(preview.plan));
}

function hasWork(plan: PlanData | undefined): boolean {
  return (plan?.actions ?? []).length > 0;
}

/**
 * @param hostState changes when the lab may have changed on the host
 * @param drift the plan of the stored text
 */
export function usePreview(lab: string, control: PlanControl, hostState: unknown, drift: PlanData | undefined): ShownPreview {
  const { state, mayEdit } = control;
  const [preview, setPreview] = useState<Preview>(none);
  const { intent, options, running } = state;
  const isDrawn = isUnapplied(isEdited(state), intent, preview, drift);
  const isPlanned = isDrawn && mayEdit;
  const isBusy = running !== undefined;
  const isJob = running?.job !== undefined;
  /** Whether a job changed the host, so that the plan before it is outdated. */
  const isOutdated = useRef(false);
  const last = useRef<AbortController>(undefined);
  useEffect(() => {
    last.current?.abort();
    if (isJob) isOutdated.current = true;
    if (isBusy) return undefined;
    if (!isPlanned) return setPreview(none);
    const controller = new AbortController();
    last.current = controller;
    const { signal } = controller;
    const outdated = isOutdated.current;
    isOutdated.current = false;
    setPreview((before) => ({ ...(outdated ? none : before), isPending: true }));
    const show = (next: Preview) => signal.aborted || setPreview(next);
    const plan = () => {
      const choices = { ...(options.prune && { prune: true }), ...(options.allowUnsupported && { allow_unsupported: true }) };
      call("planProject", { lab, ...intent, ...choices, peek: true }, { signal }).then(
        (plan) => show({ plan, intent, isPending: false }),
        (error: unknown) => {
          show({ ...problemOf(error), isPending: false });
          if (!signal.aborted && isUnreachable(error)) timer = setTimeout(plan, retryMs);
        },
      );
    };
    let timer = setTimeout(plan, delayMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [lab, isPlanned, intent, options.prune, options.allowUnsupported, isBusy, isJob, hostState]);
  return { ...preview, isDrawn };
}

/** Whether the service did not answer, which a later request may change. */
function isUnreachable(error: unknown): boolean {
  return error instanceof LabwrightError && (error.status === 0 || error.status === 503 || error.code === "host_timeout");
}

function problemOf(error: unknown): Pick<Preview, "diagnostics" | "error"> {
  if (!(error instanceof LabwrightError) || error.code !== "invalid_intent") return { error };
  return { diagnostics: (error.data?.["diagnostics"] ?? []) as readonly Diagnostic[] };
}
