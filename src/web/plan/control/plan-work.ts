import { type Job, LabwrightError } from "../../../client/browser.ts";
import type { PlanData } from "../../../contract/schemas/plan.ts";
import { type IntentText, sameIntent } from "../../intent/intent-text.ts";
import { call, changes } from "../../service/api.ts";
import { appliedText, refusalText, refusedNotice } from "./plan-notices.ts";
import type { Notice, PlanEvent, PlanState } from "./plan-state.ts";

type Direction = "to_host" | "from_host";

interface ChangeInput {
  readonly confirm?: true;
  readonly direction?: "from_host";
}

interface PlanWorkInput {
  readonly lab: string;
  readonly state: PlanState;
  readonly dispatch: (event: PlanEvent) => void;
  /** Called when the lab may have changed on the host. */
  readonly onLabChanged: () => void;
}

/** The requests that plan, apply and store the text of a state. Each returns the notice about its result, or throws. */
export function planWork({ lab, state, dispatch, onLabChanged }: PlanWorkInput) {
  const { intent, options, computed } = state;
  /** Whether the service still has the text that this one started from; otherwise asks which text to keep. */
  const isBaseCurrent = ({ yaml, files }: IntentText): boolean => {
    if (sameIntent({ yaml, files }, state.base)) return true;
    dispatch({ type: "newer-found", intent: { yaml, files } });
    return false;
  };
  const request = {
    lab,
    ...intent,
    ...(options.prune && { prune: true }),
    ...(options.allowUnsupported && { allow_unsupported: true }),
  };
  const computePlan = async (direction: Direction, peek = false): Promise<PlanData> => {
    const plan = await call("planProject", { ...request, direction, ...(peek && { peek }) });
    dispatch({ type: "planned", computed: { plan, intent, options } });
    return plan;
  };
  /** Runs a change as a job, and reports its progress. */
  const runJob = async (label: string, input: ChangeInput, plan: PlanData | undefined) => {
    const identity = plan?.plan_identity;
    const { job } = await changes.startJob("reconcileProject", {
      ...request,
      ...(identity !== undefined && { plan_identity: identity }),
      ...input,
    });
    dispatch({ type: "job-started", label, job });
    const onProgress = (progress: Job) => dispatch({ type: "job-progressed", progress });
    return await changes.waitForJob("reconcileProject", job, { onProgress });
  };
  /** Shows the remaining plan if the change was cancelled or its plan was stale; throws any other error. */
  const planAfter = async (error: unknown, direction: Direction): Promise<Notice> => {
    const text = error instanceof LabwrightError ? refusalText(error) : undefined;
    if (text === undefined) throw error;
    onLabChanged();
    await computePlan(direction);
    return { text, isWarning: true };
  };
  const apply = async (confirm: boolean, plan = computed?.plan): Promise<Notice> => {
    try {
      const result = await runJob(confirm ? "Applying" : "Applying safe steps", confirm ? { confirm } : {}, plan);
      const complete = result.status !== "pending_stop";
      dispatch({ type: "applied", intent, complete });
      onLabChanged();
      if (complete) return { text: appliedText(result) };
    } catch (error) {
      return await planAfter(error, "to_host");
    }
    await computePlan("to_host");
    dispatch({ type: "asked", question: "stop" });
    return { text: "Steps that disturb no running node are applied. The remaining steps need nodes to stop." };
  };
  const applySeen = async (seen: PlanData): Promise<Notice> => {
    const plan = await computePlan("to_host");
    // A change of the text after this request makes the plan stale.
    if (!isBaseCurrent(await call("getPublicProject", { lab, as_written: true }))) return refusedNotice("Not applied");
    if (JSON.stringify(plan.actions) === JSON.stringify(seen.actions)) return apply(false, plan);
    return { text: "The lab changed meanwhile. Nothing was applied. Check the new plan, then apply it.", isWarning: true };
  };
  const save = async (): Promise<Notice> => {
    const stored = await call("getPublicProject", { lab, as_written: true });
    // Otherwise another user's edit would be lost.
    if (!isBaseCurrent(stored)) return refusedNotice("Not saved");
    await call("editProject", { lab, intent, revision: stored.revision });
    dispatch({ type: "saved", intent });
    onLabChanged();
    return { text: "Saved. The host is not changed." };
  };
  const takeOver = async (): Promise<Notice> => {
    try {
      const result = await runJob("Taking over", { direction: "from_host" }, computed?.plan);
      const after: IntentText = { yaml: result.yaml ?? intent.yaml, files: result.files ?? intent.files };
      dispatch({ type: "taken-over", before: intent, after });
      return { text: "The text now matches the host." };
    } catch (error) {
      return await planAfter(error, "from_host");
    }
  };
  return { computePlan, apply, applySeen, save, takeOver };
}
