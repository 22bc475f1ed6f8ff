import { useEffect, useReducer, useState } from "preact/hooks";
import { type Job, LabwrightError } from "../../../client/browser.ts";
import type { PlanData } from "../../../contract/schemas/plan.ts";
import { readDraft, saveDraft } from "../../intent/drafts.ts";
import { type IntentText, sameIntent } from "../../intent/intent-text.ts";
import { readIntent } from "../../intent/read-intent.ts";
import { call, changes } from "../../service/api.ts";
import { useEvents } from "../../service/events.ts";
import { blockedReason, initialPlanState, isEdited, type Notice, type PlanEvent, type PlanState, planReducer } from "./plan-state.ts";

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

type Direction = "to_host" | "from_host";

interface ChangeInput {
  readonly confirm?: true;
  readonly direction?: "from_host";
}

/** The state of the plan page, and the requests that change it. */
export function usePlan({ lab, isManaged, mayChange, onLabChanged }: PlanInput): PlanControl {
  const [state, dispatch] = useReducer(planReducer, initialPlanState());
  const { intent, options, computed, running } = state;
  const { mayEdit, readError, readAgain } = useServiceIntent({ lab, isManaged, mayChange, isBusy: running !== undefined, dispatch });
  useDraft(lab, state, mayEdit);

  /** Whether the service still has the text that this one started from; otherwise asks which text to keep. */
  const isBaseCurrent = ({ yaml, files }: IntentText): boolean => {
    if (sameIntent({ yaml, files }, state.base)) return true;
    dispatch({ type: "newer-found", intent: { yaml, files } });
    return false;
  };
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
    if (!isBaseCurrent(await call("getPublicProject", { lab, as_written: true }))) return refused("Not applied");
    if (JSON.stringify(plan.actions) === JSON.stringify(seen.actions)) return apply(false, plan);
    return { text: "The lab changed meanwhile. Nothing was applied. Check the new plan, then apply it.", isWarning: true };
  };
  const save = async (): Promise<Notice> => {
    const stored = await call("getPublicProject", { lab, as_written: true });
    // Otherwise another user's edit would be lost.
    if (!isBaseCurrent(stored)) return refused("Not saved");
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

interface ServiceIntentInput {
  readonly lab: string;
  readonly isManaged: boolean;
  readonly mayChange: boolean;
  /** Whether a request of this page runs. */
  readonly isBusy: boolean;
  readonly dispatch: (event: PlanEvent) => void;
}

/** Reads the service's intent at first, when the lab changes, and after each request: the reducer ignores changes of the service while one runs. */
function useServiceIntent({ lab, isManaged, mayChange, isBusy, dispatch }: ServiceIntentInput) {
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
function useDraft(lab: string, state: PlanState, mayEdit: boolean): void {
  const edited = isEdited(state);
  const { intent: mine, base } = state;
  useEffect(() => {
    if (mayEdit) saveDraft(lab, edited ? { mine, base } : undefined);
  }, [mine, base]);
  useEffect(() => {
    if (!edited) return undefined;
    const confirmLeave = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", confirmLeave);
    return () => removeEventListener("beforeunload", confirmLeave);
  }, [edited]);
}

function refused(what: "Not saved" | "Not applied"): Notice {
  return { text: `${what}: the text was changed elsewhere meanwhile. Choose one of the texts first.`, isWarning: true };
}

/** Returns whether a job has ended; false even if the service does not answer. */
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
