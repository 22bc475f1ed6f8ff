import type { Job } from "../../../client/browser.ts";
import type { PlanAction, PlanData } from "../../../contract/schemas/plan.ts";
import type { Draft } from "../../intent/drafts.ts";
import { type IntentText, sameIntent } from "../../intent/intent-text.ts";

/** The choices that a plan is computed with. */
export interface PlanOptions {
  /** Delete parts that the text does not have. */
  readonly prune: boolean;
  /** Apply the rest if the host does not support a part. */
  readonly allowUnsupported: boolean;
}

/** A plan, with the inputs that it was computed from. */
export interface ComputedPlan {
  readonly plan: PlanData;
  readonly intent: IntentText;
  readonly options: PlanOptions;
}

/** A request of this page that is running: a plan, or a change as a job. */
export interface RunningRequest {
  readonly label: string;
  readonly job?: string;
  readonly progress?: Job;
  /** The steps of the plan that is being applied, if known. */
  readonly steps?: readonly PlanAction[];
}

export interface Notice {
  readonly text: string;
  readonly isWarning?: boolean;
}

/** A text that undo or redo brings back, with the choice to prune that belonged to it. */
export interface PastText {
  readonly intent: IntentText;
  readonly prune: boolean;
}

export interface PlanState {
  /** Whether the service's text is here. Before, nothing can be edited. */
  readonly isLoaded: boolean;
  /** The text in the editor, and the files beside it. */
  readonly intent: IntentText;
  /** The service's intent that the text started from. */
  readonly base: IntentText;
  /** The texts before the last edits, the latest last, and those that were undone, the next one last. */
  readonly past: readonly PastText[];
  readonly future: readonly PastText[];
  /** Whether the last edit was typed: typing is undone as a whole in the drawing, and key by key in the editor. */
  readonly isTyping: boolean;
  /** A newer intent of the service, while the text here has changes of its own. */
  readonly newer: IntentText | undefined;
  /** The last text that was set by the page and not typed; a new object each time, for the editor to follow. */
  readonly replacement: { readonly yaml: string } | undefined;
  readonly options: PlanOptions;
  readonly computed: ComputedPlan | undefined;
  readonly running: RunningRequest | undefined;
  readonly question: "stop" | "take-over" | undefined;
  /** The texts before and after the host's changes were taken over. */
  readonly takenOver: { readonly before: IntentText; readonly after: IntentText } | undefined;
  readonly notice: Notice;
  readonly error: unknown;
}

export type PlanEvent =
  | { readonly type: "drawn"; readonly intent: IntentText; readonly prunes: boolean }
  /** An earlier state of the lab as edited text: its plan also deletes what that state does not have. */
  | { readonly type: "returned"; readonly intent: IntentText; readonly title: string }
  | { readonly type: "undone" }
  | { readonly type: "redone" }
  | { readonly type: "discarded" }
  | { readonly type: "saved"; readonly intent: IntentText }
  | { readonly type: "typed"; readonly yaml: string }
  | { readonly type: "file-changed"; readonly path: string; readonly content: string }
  | { readonly type: "option-changed"; readonly option: Partial<PlanOptions> }
  /** draft: unapplied text of an earlier visit, restored when the intent is first read from the service. */
  | { readonly type: "service-intent-read"; readonly intent: IntentText; readonly draft?: Draft | undefined }
  | { readonly type: "newer-found"; readonly intent: IntentText }
  | { readonly type: "newer-taken" }
  | { readonly type: "newer-ignored" }
  /** Both edits in one text, which starts from the service's newer intent. */
  | { readonly type: "newer-merged"; readonly intent: IntentText }
  | { readonly type: "started"; readonly label: string }
  | { readonly type: "job-started"; readonly label: string; readonly job: string }
  | { readonly type: "job-progressed"; readonly progress: Job }
  | { readonly type: "planned"; readonly computed: ComputedPlan }
  | { readonly type: "applied"; readonly intent: IntentText; readonly complete: boolean }
  | { readonly type: "taken-over"; readonly before: IntentText; readonly after: IntentText }
  | { readonly type: "ended"; readonly notice: Notice }
  | { readonly type: "failed"; readonly error: unknown }
  | { readonly type: "cancel-failed"; readonly error: unknown }
  | { readonly type: "asked"; readonly question: "stop" | "take-over" }
  | { readonly type: "answered" };

/** An edit removes the notice and the error about the text before. */
const untold: Pick<PlanState, "notice" | "error"> = { notice: { text: "" }, error: undefined };
const noText: IntentText = { yaml: "", files: {} };
/** Most edits that can be undone. */
const maxPast = 200;

/** @param draft text of an earlier visit that was not applied */
export function initialPlanState(service?: IntentText, draft?: Draft): PlanState {
  return {
    isLoaded: service !== undefined,
    intent: draft?.mine ?? service ?? noText,
    base: draft?.base ?? service ?? noText,
    past: [],
    future: [],
    isTyping: false,
    newer: undefined,
    replacement: undefined,
    options: { prune: false, allowUnsupported: false },
    computed: undefined,
    running: undefined,
    question: undefined,
    takenOver: undefined,
    notice: { text: draft === undefined ? "" : "Your unapplied text was restored." },
    error: undefined,
  };
}

export function planReducer(state: PlanState, event: PlanEvent): PlanState {
  const next = reduced(state, event);
  // Without an edit there is nothing to choose: Discard and Undo show the service's newer text.
  return next.newer !== undefined && !isEdited(next) ? withText(next, next.newer) : next;
}

function reduced(state: PlanState, event: PlanEvent): PlanState {
  switch (event.type) {
    case "typed":
      return state.intent.yaml === event.yaml ? state : typed(state, { ...state.intent, yaml: event.yaml });
    case "file-changed":
      return typed(state, { ...state.intent, files: { ...state.intent.files, [event.path]: event.content } });
    case "drawn":
      return sameIntent(state.intent, event.intent) ? state : drawn(state, event.intent, event.prunes);
    case "returned":
      return sameIntent(state.intent, event.intent)
        ? { ...state, notice: { text: `The text is the one of ${event.title} already.` } }
        : {
            ...drawn(state, event.intent, true),
            computed: undefined,
            notice: { text: `This is the text of ${event.title}. The host changes when you apply it.` },
          };
    case "undone":
      return restored(state, "past");
    case "redone":
      return restored(state, "future");
    case "discarded":
      return isEdited(state)
        ? { ...drawn(state, state.base, false), options: { ...state.options, prune: false }, computed: undefined }
        : state;
    case "saved":
      return { ...state, base: event.intent };
    case "option-changed":
      return { ...state, options: { ...state.options, ...event.option } };
    case "service-intent-read":
      // A draft may be of before a change of the text, also of one that applied it.
      return withServiceIntent(state.isLoaded ? state : initialPlanState(event.intent, event.draft), event.intent);
    case "newer-found":
      return { ...state, newer: event.intent };
    case "newer-taken":
      return state.newer === undefined ? state : withText(state, state.newer);
    case "newer-ignored":
      return {
        ...state,
        base: state.newer ?? state.base,
        newer: undefined,
        notice: { text: "Your text is kept. Applying it replaces the stored one." },
      };
    case "newer-merged":
      return state.newer === undefined
        ? state
        : {
            ...withText(state, event.intent),
            base: state.newer,
            notice: { text: "This text has both changes. Check it, then apply or save it." },
          };
    case "started":
      return { ...state, running: { label: event.label }, takenOver: undefined, notice: { text: "" }, error: undefined };
    case "job-started": {
      const steps = state.computed?.plan.operations;
      return { ...state, running: { label: event.label, job: event.job, ...(steps !== undefined && { steps }) } };
    }
    case "job-progressed":
      return state.running === undefined ? state : { ...state, running: { ...state.running, progress: event.progress } };
    case "planned":
      return { ...state, computed: event.computed };
    case "applied":
      return { ...state, base: event.intent, computed: event.complete ? undefined : state.computed };
    case "taken-over":
      return { ...withText(state, event.after), computed: undefined, takenOver: { before: event.before, after: event.after } };
    case "ended":
      return { ...state, running: undefined, notice: event.notice };
    case "failed":
      return { ...state, running: undefined, error: event.error };
    case "cancel-failed":
      return { ...state, error: event.error };
    case "asked":
      return { ...state, question: event.question };
    case "answered":
      return { ...state, question: undefined };
  }
}

function remembered({ past, intent, options }: PlanState): readonly PastText[] {
  return [...past.slice(1 - maxPast), { intent, prune: options.prune }];
}

function typed(state: PlanState, intent: IntentText): PlanState {
  const past = state.isTyping ? state.past : remembered(state);
  return { ...state, intent, past, future: [], isTyping: true, ...untold };
}

function drawn(state: PlanState, intent: IntentText, prunes: boolean): PlanState {
  const options = prunes ? { ...state.options, prune: true } : state.options;
  const replacement = intent.yaml === state.intent.yaml ? state.replacement : { yaml: intent.yaml };
  return { ...state, intent, options, replacement, past: remembered(state), future: [], isTyping: false, ...untold };
}

/** Exchanges the text with the last one of `from`. */
function restored(state: PlanState, from: "past" | "future"): PlanState {
  const last = state[from].at(-1);
  if (last === undefined) return state;
  const now: PastText = { intent: state.intent, prune: state.options.prune };
  const to = from === "past" ? "future" : "past";
  return {
    ...state,
    [from]: state[from].slice(0, -1),
    [to]: [...state[to], now],
    intent: last.intent,
    options: { ...state.options, prune: last.prune },
    replacement: { yaml: last.intent.yaml },
    isTyping: false,
    ...untold,
  };
}

/** Whether the text has changes that are not applied. */
export function isEdited({ intent, base }: PlanState): boolean {
  return !sameIntent(intent, base);
}

/** Returns why the text can be neither applied nor saved; undefined if it can. */
export function blockedReason({ newer }: PlanState): string | undefined {
  return newer === undefined ? undefined : "The lab's text was changed elsewhere. Choose one of the texts first.";
}

/** Whether the shown plan was computed from the current text and options. */
export function isPlanCurrent({ computed, intent, options }: PlanState): boolean {
  return (
    computed !== undefined &&
    sameIntent(computed.intent, intent) &&
    computed.options.prune === options.prune &&
    computed.options.allowUnsupported === options.allowUnsupported
  );
}

/** Shows an intent of the service in the editor. */
function withText(state: PlanState, intent: IntentText): PlanState {
  const replacement = intent.yaml === state.intent.yaml ? state.replacement : { yaml: intent.yaml };
  // Earlier texts started from another text of the service: they cannot be brought back without losing its changes.
  return { ...state, intent, base: intent, newer: undefined, replacement, past: [], future: [], isTyping: false };
}

/** The intent also changes elsewhere: by links and positions in the topology, and by other users. */
function withServiceIntent(state: PlanState, intent: IntentText): PlanState {
  if (state.running !== undefined) return state;
  // The change elsewhere may have been taken back.
  if (sameIntent(intent, state.base)) return state.newer === undefined ? state : { ...state, newer: undefined };
  // A warning stays: it is about the user's own request, such as one that was cancelled after the service stored its text.
  const notice = state.notice.isWarning === true ? state.notice : untold.notice;
  if (sameIntent(intent, state.intent)) return { ...state, base: intent, newer: undefined, notice };
  if (isEdited(state)) return { ...state, newer: intent };
  return { ...withText(state, intent), notice: { text: "The text was changed elsewhere. This is the new text." } };
}
