import { expect, test } from "vitest";
import type { Job } from "../../../client/browser.ts";
import type { PlanAction, PlanData } from "../../../contract/schemas/plan.ts";
import type { IntentText } from "../../intent/intent-text.ts";
import { blockedReason, initialPlanState, isEdited, isPlanCurrent, type PlanEvent, type PlanState, planReducer } from "./plan-state.ts";

const text = (yaml: string, files: Readonly<Record<string, string>> = {}): IntentText => ({ yaml, files });
const after = (state: PlanState, ...events: readonly PlanEvent[]) => events.reduce(planReducer, state);
const initial = initialPlanState(text("name: a"), undefined);
const steps = [{ id: "node:r1" } as PlanAction];
const plan = { actions: [], operations: steps } as unknown as PlanData;
const planned = (state: PlanState): PlanEvent => ({ type: "planned", computed: { plan, intent: state.intent, options: state.options } });

test("a return to an earlier state is an edit that prunes, and one undo takes it back", () => {
  const now: IntentText = { yaml: "name: a\nnodes: {r1: {}}\n", files: {} };
  const past: IntentText = { yaml: "name: a\n", files: {} };
  const start = initialPlanState(now);
  const returned = planReducer(start, { type: "returned", intent: past, title: "state 3" });
  expect([isEdited(returned), returned.options.prune, returned.replacement]).toEqual([true, true, { yaml: past.yaml }]);
  expect(returned.notice.text).toContain("state 3");
  const undone = planReducer(returned, { type: "undone" });
  expect([isEdited(undone), undone.options.prune]).toEqual([false, false]);
  expect(isEdited(planReducer(start, { type: "returned", intent: now, title: "state 4" }))).toBe(false);
});

test("a draft is restored with the intent that it started from", () => {
  const state = initialPlanState(text("name: new"), { mine: text("name: mine"), base: text("name: old") });
  expect([state.intent.yaml, state.base.yaml, state.notice.text]).toEqual(["name: mine", "name: old", "Your unapplied text was restored."]);
  expect(isEdited(state)).toBe(true);
});

test("an edit, its undo and a discard end the notice of the text before", () => {
  const restored = initialPlanState(text("name: new"), { mine: text("name: mine"), base: text("name: new") });
  expect(after(restored, { type: "discarded" }).notice.text).toBe("");
  const applied = after(initial, { type: "started", label: "Applying…" }, { type: "ended", notice: { text: "Applied, 3 steps." } });
  expect(applied.notice.text).toBe("Applied, 3 steps.");
  const typed = after(applied, { type: "typed", yaml: "name: b" });
  expect([typed.notice.text, after(applied, { type: "drawn", intent: text("name: c"), prunes: false }).notice.text]).toEqual(["", ""]);
  expect(after(typed, { type: "ended", notice: { text: "Saved." } }, { type: "undone" }).notice.text).toBe("");
});

test("typing and files change the text, and typing the same text changes nothing", () => {
  const state = after(initial, { type: "typed", yaml: "name: b" }, { type: "file-changed", path: "r1.conf", content: "x" });
  expect(state.intent).toEqual(text("name: b", { "r1.conf": "x" }));
  expect(isEdited(state)).toBe(true);
  expect(planReducer(state, { type: "typed", yaml: "name: b" })).toBe(state);
});

test("a plan is current until the text, a file or an option changes", () => {
  const state = after(initial, planned(initial));
  expect(isPlanCurrent(initial)).toBe(false);
  expect(isPlanCurrent(state)).toBe(true);
  expect(isPlanCurrent(after(state, { type: "typed", yaml: "name: b" }))).toBe(false);
  expect(isPlanCurrent(after(state, { type: "file-changed", path: "r1.conf", content: "x" }))).toBe(false);
  for (const option of [{ prune: true }, { allowUnsupported: true }]) {
    const changed = after(state, { type: "option-changed", option });
    expect(isPlanCurrent(changed)).toBe(false);
    expect(isPlanCurrent(after(changed, planned(changed)))).toBe(true);
  }
});

test("a change of the service replaces an unedited text in the editor", () => {
  const state = after(initial, { type: "service-intent-read", intent: text("name: theirs") });
  expect([state.intent.yaml, state.base.yaml, state.replacement]).toEqual(["name: theirs", "name: theirs", { yaml: "name: theirs" }]);
  expect(state.notice.text).toContain("changed elsewhere");
});

test("a change of the service waits beside an edited text until the user takes or ignores it", () => {
  const state = after(initial, { type: "typed", yaml: "name: mine" }, { type: "service-intent-read", intent: text("name: theirs") });
  expect([state.intent.yaml, state.newer?.yaml, state.replacement]).toEqual(["name: mine", "name: theirs", undefined]);
  const taken = after(state, { type: "newer-taken" });
  expect([taken.intent.yaml, taken.newer, taken.replacement]).toEqual(["name: theirs", undefined, { yaml: "name: theirs" }]);
  const ignored = after(state, { type: "newer-ignored" });
  expect([ignored.intent.yaml, ignored.base.yaml, ignored.newer]).toEqual(["name: mine", "name: theirs", undefined]);
});

test("the notice of a cancelled request stays when the service has the text already", () => {
  const typed = after(initial, { type: "typed", yaml: "name: b" }, { type: "started", label: "Applying…" });
  const cancelled = after(typed, { type: "ended", notice: { text: "Cancelled after 1 step.", isWarning: true } });
  const read = after(cancelled, { type: "service-intent-read", intent: text("name: b"), draft: undefined });
  expect([isEdited(read), read.notice.text]).toEqual([false, "Cancelled after 1 step."]);
});

test("an intent of the service that equals the text or the base causes no notice, and a running request ignores it", () => {
  expect(planReducer(initial, { type: "service-intent-read", intent: text("name: a") })).toBe(initial);
  const typed = after(initial, { type: "typed", yaml: "name: b" }, { type: "service-intent-read", intent: text("name: b") });
  expect([typed.base.yaml, typed.newer, typed.notice.text]).toEqual(["name: b", undefined, ""]);
  const running = after(initial, { type: "started", label: "Applying…" });
  expect(planReducer(running, { type: "service-intent-read", intent: text("name: theirs") })).toBe(running);
});

test("a change runs as a job with the steps of its plan, and its end removes the progress", () => {
  const running = after(
    initial,
    planned(initial),
    { type: "started", label: "Applying…" },
    { type: "job-started", label: "Applying", job: "j1" },
  );
  expect(running.running).toEqual({ label: "Applying", job: "j1", steps });
  const progress = { step: 1, steps: 1 } as Job;
  const progressed = after(running, { type: "job-progressed", progress });
  expect(progressed.running?.progress).toBe(progress);
  const ended = after(
    progressed,
    { type: "applied", intent: initial.intent, complete: true },
    { type: "ended", notice: { text: "Applied." } },
  );
  expect([ended.running, ended.computed, ended.notice.text]).toEqual([undefined, undefined, "Applied."]);
  expect(after(ended, { type: "job-progressed", progress })).toBe(ended);
});

test("a change that needs stopped nodes keeps its plan for the question", () => {
  const state = after(
    initial,
    planned(initial),
    { type: "applied", intent: text("name: a"), complete: false },
    { type: "asked", question: "stop" },
  );
  expect([state.computed?.plan, state.question]).toEqual([plan, "stop"]);
  expect(after(state, { type: "answered" }).question).toBeUndefined();
});

test("a failure ends the request, and the next request removes its error", () => {
  const failed = after(initial, { type: "started", label: "Planning…" }, { type: "failed", error: new Error("no host") });
  expect([failed.running, failed.error]).toEqual([undefined, new Error("no host")]);
  expect(after(failed, { type: "started", label: "Planning…" }).error).toBeUndefined();
});

test("the host's changes that are taken over are shown as a difference until the next request", () => {
  const state = after(initial, planned(initial), { type: "taken-over", before: initial.intent, after: text("name: host") });
  expect([state.intent.yaml, state.base.yaml, state.computed, state.takenOver?.before.yaml]).toEqual([
    "name: host",
    "name: host",
    undefined,
    "name: a",
  ]);
  expect(isEdited(state)).toBe(false);
  expect(after(state, { type: "started", label: "Planning…" }).takenOver).toBeUndefined();
});

test("a text is neither applied nor saved while one of two texts must be chosen, and each choice ends that", () => {
  const mine = after(initial, { type: "typed", yaml: "name: mine" });
  const state = after(mine, { type: "service-intent-read", intent: text("name: theirs") });
  expect([blockedReason(mine), blockedReason(state)]).toEqual([undefined, expect.stringContaining("Choose")]);
  const merged = after(state, { type: "newer-merged", intent: text("name: both") });
  expect([merged.intent.yaml, merged.base.yaml, merged.replacement, merged.past]).toEqual([
    "name: both",
    "name: theirs",
    { yaml: "name: both" },
    [],
  ]);
  for (const chosen of [merged, after(state, { type: "newer-taken" }), after(state, { type: "newer-ignored" })]) {
    expect([blockedReason(chosen), chosen.newer]).toEqual([undefined, undefined]);
  }
});

test("the choice between two texts ends when the other change is taken back, and Discard and Undo show the newer text", () => {
  const state = after(initial, { type: "typed", yaml: "name: mine" }, { type: "service-intent-read", intent: text("name: theirs") });
  const back = after(state, { type: "service-intent-read", intent: text("name: a") });
  expect([back.newer, back.intent.yaml]).toEqual([undefined, "name: mine"]);
  const agreed = after(state, { type: "service-intent-read", intent: text("name: mine") });
  expect([agreed.newer, isEdited(agreed)]).toEqual([undefined, false]);
  for (const type of ["discarded", "undone"] as const) {
    const left = after(state, { type });
    expect([left.intent.yaml, left.base.yaml, left.newer]).toEqual(["name: theirs", "name: theirs", undefined]);
  }
});

test("an edit, its undo and a discard end the error of the text before", () => {
  const failed = after(initial, { type: "typed", yaml: "name: b" }, { type: "failed", error: new Error("quota exceeded") });
  const drawn: PlanEvent = { type: "drawn", intent: text("name: c"), prunes: false };
  for (const event of [{ type: "undone" }, { type: "discarded" }, { type: "typed", yaml: "name: c" }, drawn] as const) {
    expect(after(failed, event).error).toBeUndefined();
  }
});

test("a draft that was applied before a reload is no edit, and one of an older text asks which text to keep", () => {
  const draft = { mine: text("name: mine"), base: text("name: old") };
  const read = (yaml: string) => after(initialPlanState(), { type: "service-intent-read", intent: text(yaml), draft });
  expect([isEdited(read("name: mine")), read("name: mine").notice.text]).toEqual([false, ""]);
  expect([read("name: theirs").newer?.yaml, blockedReason(read("name: old"))]).toEqual(["name: theirs", undefined]);
});
