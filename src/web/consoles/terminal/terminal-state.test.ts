import { expect, test } from "vitest";
import { LabwrightError } from "../../../client/browser.ts";
import type { LinkState } from "./console-link.ts";
import { initialTerminalState, linkDot, statusText, type TerminalEvent, terminalReducer } from "./terminal-state.ts";

const after = (...events: readonly TerminalEvent[]) => events.reduce(terminalReducer, initialTerminalState);
const links: readonly LinkState[] = [
  { kind: "connecting" },
  { kind: "open", again: false },
  { kind: "stopped" },
  { kind: "broken", retryMs: 500 },
  { kind: "ended", text: "The shell ended with exit code 0" },
  { kind: "refused", error: new LabwrightError("no rights on /a", { status: 403 }) },
];

test("the bar shows the state of the connection, and for a refusal its message", () => {
  expect(links.map((link) => statusText(after({ type: "link-changed", link })))).toEqual([
    "Connecting…",
    "Connected",
    "Not running; waiting for its start",
    "Connection lost; reconnecting",
    "The shell ended with exit code 0",
    "no rights on /a",
  ]);
  expect(links.map(linkDot)).toEqual(["starting", "running", "starting", "starting", "stopped", "failed"]);
});

test("a notice is shown until its own timer expires", () => {
  const noticed: readonly TerminalEvent[] = [
    { type: "noticed", notice: "All copied" },
    { type: "noticed", notice: "Selection copied" },
  ];
  expect(statusText(after(...noticed, { type: "notice-expired", notice: "All copied" }))).toBe("Selection copied");
  expect(statusText(after(...noticed, { type: "notice-expired", notice: "Selection copied" }))).toBe("Connecting…");
});

test("a paste waits for its answer, and the search opens and closes", () => {
  const paste = { text: "a\nb", lines: 2 };
  expect(after({ type: "paste-requested", paste }).paste).toBe(paste);
  expect(after({ type: "paste-requested", paste }, { type: "paste-ended" }).paste).toBeUndefined();
  expect(after({ type: "search-opened" }).isSearching).toBe(true);
  expect(after({ type: "search-opened" }, { type: "search-closed" }).isSearching).toBe(false);
});
