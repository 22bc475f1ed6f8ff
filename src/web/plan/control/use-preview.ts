import { useEffect, useRef, useState } from "preact/hooks";
import { LabwrightError } from "../../../client/browser.ts";
import type { PlanData } from "../../../contract/schemas/plan.ts";
import type { Diagnostic } from "../../../contract/schemas/project.ts";
import { call } from "../../service/api.ts";
import { isEdited } from "./plan-state.ts";
import type { PlanControl } from "./use-plan.ts";

/** The effect of applying the edited text, computed while it is edited. */
export interface Preview {
  /** The newest plan; it may be of the text before the last edit while `isPending`. */
  readonly plan?: PlanData;
  /** The problems of a text that cannot be planned. */
  readonly diagnostics?: readonly Diagnostic[];
  readonly error?: unknown;
  readonly isPending: boolean;
}

/** A text is planned when it was not edited for this time, ms. */
const delayMs = 350;
const none: Preview = { isPending: false };

/** @param hostState changes when the lab may have changed on the host */
export function usePreview(lab: string, { state }: PlanControl, hostState: unknown): Preview {
  const [preview, setPreview] = useState<Preview>(none);
  const edited = isEdited(state);
  const { intent, options, running } = state;
  const isBusy = running !== undefined;
  const last = useRef<AbortController>(undefined);
  useEffect(() => {
    last.current?.abort();
    if (!edited) return setPreview(none);
    if (isBusy) return undefined;
    const controller = new AbortController();
    last.current = controller;
    const { signal } = controller;
    setPreview((before) => ({ ...before, isPending: true }));
    const show = (next: Preview) => signal.aborted || setPreview(next);
    const plan = () => {
      const choices = { ...(options.prune && { prune: true }), ...(options.allowUnsupported && { allow_unsupported: true }) };
      call("planProject", { lab, ...intent, ...choices, peek: true }, { signal }).then(
        (plan) => show({ plan, isPending: false }),
        (error: unknown) => show({ ...problemOf(error), isPending: false }),
      );
    };
    const timer = setTimeout(plan, delayMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [lab, edited, intent, options.prune, options.allowUnsupported, isBusy, hostState]);
  return preview;
}

function problemOf(error: unknown): Pick<Preview, "diagnostics" | "error"> {
  if (!(error instanceof LabwrightError) || error.code !== "invalid_intent") return { error };
  return { diagnostics: (error.data?.["diagnostics"] ?? []) as readonly Diagnostic[] };
}
