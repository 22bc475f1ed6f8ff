import { useEffect, useReducer } from "preact/hooks";
import { type Job, LabwrightError } from "../../client/browser.ts";
import type { PlanData } from "../../contract/schemas/plan.ts";
import { readDraft, saveDraft } from "../intent/drafts.ts";
import type { IntentText } from "../intent/intent-text.ts";
import { readIntent } from "../intent/read-intent.ts";
import { call, changes } from "../service/api.ts";
import { useEvents } from "../service/events.ts";
import { initialPlanState, isEdited, type Notice, type PlanEvent, type PlanState, planReducer } from "./plan-state.ts";

interface PlanInput {
  readonly lab: string;
  /** The service's intent when the page was opened. */
  readonly intent: IntentText;
  readonly mayChange: boolean;
  /** Called when the lab may have changed on the host. */
  readonly onLabChanged: () => void;
}

export interface PlanControl {
  readonly state: PlanState;
  readonly dispatch: (event: PlanEvent) => void;
  /** Plans the text against the host. */
  readonly plan: () => void;
  /** Plans the host's changes against the text. */
  readonly readHost: () => void;
  /** Applies the shown plan. @param confirm the user agreed that nodes stop */
  readonly apply: (confirm: boolean) => void;
  /** Writes the host's changes into the text. */
  readonly takeOver: () => void;
  readonly cancel: (job: string) => Promise<void>;
}

type Direction = "to_host" | "from_host";

interface ChangeInput {
  readonly confirm?: true;
  readonly direction?: "from_host";
}

/** The state of the plan page, and the requests that change it. */
export function usePlan({ lab, intent: service, mayChange, onLabChanged }: PlanInput): PlanControl {
  const [state, dispatch] = useReducer(planReducer, undefined, () => {
    const { yaml, files } = service;
    return initialPlanState({ yaml, files }, mayChange ? readDraft(lab) : undefined);
  });
  const { intent, options, computed, running } = state;
  useDraft(lab, state, mayChange);
  useServiceIntent(lab, mayChange, running !== undefined, dispatch);

  const run = async (label: string, work: () => Promise<Notice>) => {
    dispatch({ type: "started", label });
    try {
      dispatch({ type: "ended", notice: await work() });
    } catch (error) {
      dispatch({ type: "failed", error });
    }
  };
  const request = {
    lab,
    ...intent,
    ...(options.prune && { prune: true }),
    ...(options.allowUnsupported && { allow_unsupported: true }),
  };
  const computePlan = async (direction: Direction): Promise<PlanData> => {
    const plan = await call("planProject", { ...request, direction });
    dispatch({ type: "planned", computed: { plan, intent, options } });
    return plan;
  };
  /** Runs a change as a job, and reports its progress. */
  const runJob = async (label: string, input: ChangeInput) => {
    const identity = computed?.plan.plan_identity;
    const plan = identity === undefined ? {} : { plan_identity: identity };
    const { job } = await changes.startJob("reconcileProject", { ...request, ...plan, ...input });
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
  const apply = async (confirm: boolean): Promise<Notice> => {
    try {
      const result = await runJob(confirm ? "Applying" : "Applying safe steps", confirm ? { confirm } : {});
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
  const takeOver = async (): Promise<Notice> => {
    try {
      const result = await runJob("Taking over", { direction: "from_host" });
      const after: IntentText = { yaml: result.yaml ?? intent.yaml, files: result.files ?? intent.files };
      dispatch({ type: "taken-over", before: intent, after });
      return { text: "The text now matches the host." };
    } catch (error) {
      return await planAfter(error, "from_host");
    }
  };
  return {
    state,
    dispatch,
    plan: () => void run("Comparing with the host…", async () => computePlan("to_host").then(() => ({ text: "" }))),
    readHost: () =>
      void run("Reading the host…", async () => {
        const { actions = [] } = await computePlan("from_host");
        return { text: actions.length > 0 ? "" : "The host has no changes that are missing in the text." };
      }),
    apply: (confirm) => void run(confirm ? "Applying…" : "Applying steps that disturb no running node…", () => apply(confirm)),
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

/** Reads the service's intent when the lab changes, and after each request: the reducer ignores changes of the service while one runs. */
function useServiceIntent(lab: string, mayChange: boolean, isBusy: boolean, dispatch: (event: PlanEvent) => void): void {
  const read = async () => {
    const { yaml, files } = (await readIntent(lab, mayChange)).intent;
    dispatch({ type: "service-intent-read", intent: { yaml, files } });
  };
  // The lab's page itself shows that the service does not answer.
  const tryRead = () => void read().catch(() => undefined);
  useEvents(lab, ({ type }) => {
    if (type === "lab" || type === "gap") tryRead();
  });
  useEffect(() => {
    if (!isBusy) tryRead();
  }, [isBusy]);
}

/** Keeps unapplied text as a draft, and asks before the browser leaves the page with it. */
function useDraft(lab: string, state: PlanState, mayChange: boolean): void {
  const edited = isEdited(state);
  const { intent: mine, base } = state;
  useEffect(() => {
    if (mayChange) saveDraft(lab, edited ? { mine, base } : undefined);
  }, [mine, base]);
  useEffect(() => {
    if (!edited) return undefined;
    const confirmLeave = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", confirmLeave);
    return () => removeEventListener("beforeunload", confirmLeave);
  }, [edited]);
}

/** Returns whether a job has ended; false also if the service does not answer. */
async function hasEnded(job: string): Promise<boolean> {
  try {
    return (await call("getJob", { id: job })).status !== "running";
  } catch {
    return false;
  }
}

interface AppliedResult {
  readonly status?: string;
  readonly applied?: number;
  readonly unsupported?: readonly unknown[];
}

function appliedText({ status, applied = 0, unsupported = [] }: AppliedResult): string {
  if (status === "unchanged") return "Nothing to do.";
  const steps = `Applied, ${stepText(applied)}`;
  return unsupported.length > 0 ? `${steps}, without the unsupported parts.` : `${steps}. The host matches the text.`;
}

function stepText(count: number): string {
  return count === 1 ? "1 step" : `${count} steps`;
}

/** Returns the notice for a refusal after which the lab is planned again; undefined for any other error. */
function refusalText({ code, data }: LabwrightError): string | undefined {
  if (code === "plan_stale") return "The lab changed after this plan was computed. Nothing was applied. This is the new plan.";
  if (code !== "cancelled") return undefined;
  const [done, left] = [data?.["applied"], data?.["remaining"]].map((list) => (Array.isArray(list) ? list.length : 0));
  return `Cancelled after ${stepText(done ?? 0)}; ${stepText(left ?? 0)} were not applied. This is the remaining plan.`;
}
