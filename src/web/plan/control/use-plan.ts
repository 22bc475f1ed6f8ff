import { useReducer } from "preact/hooks";
import type { PlanData } from "../../../contract/schemas/plan.ts";
import type { IntentText } from "../../intent/intent-text.ts";
import { call } from "../../service/api.ts";
import { blockedReason, initialPlanState, type Notice, type PlanEvent, type PlanState, planReducer } from "./plan-state.ts";
import { planWork } from "./plan-work.ts";
import { useDraft, useServiceIntent } from "./use-service-intent.ts";

interface PlanInput {
  readonly lab: string;
  /** Whether the lab has a text. Without one nothing is read. */
  readonly isManaged: boolean;
  readonly mayChange: boolean;
  /** Called when the lab may have changed on the host. */
  readonly onLabChanged: () => void;
}

export interface PlanControl {
  readonly state: PlanState;
  /** Whether the user may edit the text; false until it is read. */
  readonly mayEdit: boolean;
  /** Why the text could not be read. */
  readonly readError: unknown;
  readonly readAgain: () => void;
  readonly dispatch: (event: PlanEvent) => void;
  /** Plans the text against the host. */
  readonly plan: () => void;
  /** Shows the plan of the text without making a plan of another user stale. */
  readonly peek: () => void;
  /** Plans the host's changes against the text. */
  readonly readHost: () => void;
  /** Plans the host's changes, and asks whether they are taken over into the text. */
  readonly askTakeOver: () => void;
  /** Applies the shown plan. @param confirm the user agreed that nodes stop */
  readonly apply: (confirm: boolean) => void;
  /** Applies the text if its plan still is the given one; otherwise shows the new plan. */
  readonly applySeen: (seen: PlanData) => void;
  /** Stores the text without applying it. */
  readonly save: () => void;
  /** Shows an earlier state of the lab as edited text. */
  readonly returnTo: (past: { readonly intent: IntentText; readonly title: string }) => void;
  /** Writes the host's changes into the text. */
  readonly takeOver: () => void;
  readonly cancel: (job: string) => Promise<void>;
}

/** The state of the plan page, and the requests that change it. */
export function usePlan({ lab, isManaged, mayChange, onLabChanged }: PlanInput): PlanControl {
  const [state, dispatch] = useReducer(planReducer, initialPlanState());
  const { computed, running } = state;
  const { mayEdit, readError, readAgain } = useServiceIntent({ lab, isManaged, mayChange, isBusy: running !== undefined, dispatch });
  useDraft(lab, state, mayEdit);

  const run = async (label: string, work: () => Promise<Notice>) => {
    dispatch({ type: "started", label });
    try {
      dispatch({ type: "ended", notice: await work() });
    } catch (error) {
      dispatch({ type: "failed", error });
    }
  };
  const { computePlan, apply, applySeen, save, takeOver } = planWork({ lab, state, dispatch, onLabChanged });
  const isBlocked = blockedReason(state) !== undefined;
  return {
    state,
    mayEdit,
    readError,
    readAgain,
    dispatch,
    plan: () => void run("Comparing with the host…", async () => computePlan("to_host").then(() => ({ text: "" }))),
    peek: () => void run("Comparing with the host…", async () => computePlan("to_host", true).then(() => ({ text: "" }))),
    readHost: () =>
      void run("Reading the host…", async () => {
        const { actions = [] } = await computePlan("from_host");
        return { text: actions.length > 0 ? "" : "The host has no changes that are missing in the text." };
      }),
    askTakeOver: () =>
      void run("Reading the host…", async () => {
        const { actions = [] } = await computePlan("from_host");
        if (actions.length === 0) return { text: "The host has no changes that are missing in the text." };
        dispatch({ type: "asked", question: "take-over" });
        return { text: "" };
      }),
    applySeen: (seen) => isBlocked || void run("Applying…", () => applySeen(seen)),
    save: () => isBlocked || void run("Saving…", save),
    apply: (confirm) =>
      isBlocked ||
      void run(confirm ? "Applying…" : "Applying steps that disturb no running node…", () =>
        // A plan that was only looked at has no identity: the lab may have changed since.
        computed !== undefined && computed.plan.plan_identity === undefined ? applySeen(computed.plan) : apply(confirm),
      ),
    returnTo: (past) => dispatch({ type: "returned", ...past }),
    takeOver: () => void run("Taking over…", takeOver),
    cancel: async (job) => {
      try {
        await call("cancelJob", { id: job });
      } catch (error) {
        // A change can end before its cancel request arrives. The page shows that end by itself.
        if (!(await hasEnded(job))) dispatch({ type: "cancel-failed", error });
      }
    },
  };
}

/** Returns whether a job has ended; false even if the service does not answer. */
async function hasEnded(job: string): Promise<boolean> {
  try {
    return (await call("getJob", { id: job })).status !== "running";
  } catch {
    return false;
  }
}
