import { expect, test } from "vitest";
import { LabwrightError } from "../../client/browser.ts";
import { type CaptureEvent, captureReducer, initialCaptureState } from "./capture-state.ts";

const initial = initialCaptureState("all");
const after = (...events: readonly CaptureEvent<string>[]) => events.reduce(captureReducer<string>, initial);

test("a successful poll shows the packets and removes an earlier error, and later polls change nothing", () => {
  const failed = after({ type: "failed", error: new Error("no host") });
  const polled = captureReducer(failed, { type: "polled" });
  expect([failed.isLoaded, polled.isLoaded, polled.error]).toEqual([false, true, undefined]);
  expect(captureReducer(polled, { type: "polled" })).toBe(polled);
});

test("a filter replaces the packets when its first rows are read", () => {
  const typed: CaptureEvent<string> = { type: "filter-typed", filter: "ic" };
  const started: CaptureEvent<string> = { type: "filter-started", filter: "icmp" };
  expect(after(typed)).toMatchObject({ filter: "ic", isFiltering: false, rows: "all" });
  expect(after(typed, started)).toMatchObject({ filter: "icmp", isFiltering: true, rows: "all" });
  expect(after(typed, started, { type: "filter-applied", rows: "icmp" })).toMatchObject({
    filter: "icmp",
    isFiltering: false,
    rows: "icmp",
  });
});

test("a refused filter keeps the packets and shows the message of the decoder, until the next filter", () => {
  const problems = [{ message: "icmp.nope is not a field" }];
  const refusal = new LabwrightError("bad filter", { status: 400, code: "bad_request", data: { problems } });
  const refused = after({ type: "filter-started", filter: "icmp.nope" }, { type: "filter-failed", error: refusal });
  expect(refused).toMatchObject({ filterError: "icmp.nope is not a field", error: undefined, isFiltering: false, rows: "all" });
  expect(captureReducer(refused, { type: "filter-started", filter: "icmp" }).filterError).toBeUndefined();
});

test("a filter that fails for another reason shows the error", () => {
  const error = new LabwrightError("no host", { status: 502, code: "host_unreachable" });
  expect(after({ type: "filter-started", filter: "icmp" }, { type: "filter-failed", error })).toMatchObject({
    filterError: undefined,
    error,
  });
});

test("a selected packet stops following, and new numbers remove the selection", () => {
  const selected = after({ type: "selected", packet: 7 });
  expect([selected.selected, selected.follow]).toEqual([7, false]);
  expect(captureReducer(selected, { type: "renumbered" }).selected).toBeUndefined();
});

test("a question is open until it is answered", () => {
  expect(after({ type: "asked", question: "remove" }).question).toBe("remove");
  expect(after({ type: "asked", question: "remove" }, { type: "answered" }).question).toBeUndefined();
});
