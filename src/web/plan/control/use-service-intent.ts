import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { readDraft, saveDraft } from "../../intent/drafts.ts";
import { readIntent } from "../../intent/read-intent.ts";
import { useEvents } from "../../service/events.ts";
import { isEdited, type PlanEvent, type PlanState } from "./plan-state.ts";

interface ServiceIntentInput {
  readonly lab: string;
  readonly isManaged: boolean;
  readonly mayChange: boolean;
  /** Whether a request of this page runs. */
  readonly isBusy: boolean;
  readonly dispatch: (event: PlanEvent) => void;
}

/** Reads the service's intent at first, when the lab changes, and after each request: the reducer ignores changes of the service while one runs. */
export function useServiceIntent({ lab, isManaged, mayChange, isBusy, dispatch }: ServiceIntentInput) {
  const [mayEdit, setMayEdit] = useState(false);
  const [readError, setReadError] = useState<unknown>();
  const read = async () => {
    try {
      const found = await readIntent(lab, mayChange);
      const { yaml, files } = found.intent;
      dispatch({ type: "service-intent-read", intent: { yaml, files }, draft: found.mayChange ? readDraft(lab) : undefined });
      setMayEdit(found.mayChange);
      setReadError(undefined);
    } catch (error) {
      setReadError(error);
    }
  };
  useEvents(lab, ({ type }) => void (isManaged && (type === "lab" || type === "gap") && read()), { enabled: isManaged });
  useEffect(() => {
    if (!isBusy && isManaged) void read();
  }, [lab, isBusy, isManaged, mayChange]);
  return { mayEdit, readError, readAgain: () => void read() };
}

/** Keeps unapplied text as a draft, and asks before the browser leaves the page with it. */
export function useDraft(lab: string, state: PlanState, mayEdit: boolean): void {
  const edited = isEdited(state);
  const { intent: mine, base } = state;
  // A layout effect: the page may be loaded again before the next frame.
  useLayoutEffect(() => {
    if (mayEdit) saveDraft(lab, edited ? { mine, base } : undefined);
  }, [mine, base]);
  useEffect(() => {
    if (!edited) return undefined;
    const confirmLeave = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", confirmLeave);
    return () => removeEventListener("beforeunload", confirmLeave);
  }, [edited]);
}
