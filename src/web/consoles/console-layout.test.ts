import { expect, test } from "vitest";
import { addressEvent, type ConsoleLayout, type LayoutEvent, layoutReducer } from "./console-layout.ts";

const empty: ConsoleLayout = { open: [], current: undefined, tiles: false, broadcast: false };
const after = (...events: readonly LayoutEvent[]) => events.reduce(layoutReducer, empty);
const show = (node: string): LayoutEvent => ({ type: "shown", node });

test("a console is opened once, and becomes the current one", () => {
  expect(after(show("a"), show("b"), show("a"))).toEqual({ ...empty, open: ["a", "b"], current: "a" });
  const layout = after(show("a"), { type: "focused", node: "a" });
  expect(layoutReducer(layout, { type: "focused", node: "a" })).toBe(layout);
});

test("a closed console leaves the others open", () => {
  expect(after(show("a"), show("b"), { type: "closed", node: "a" }).open).toEqual(["b"]);
});

test("several consoles are opened side by side", () => {
  expect(after(show("a"), { type: "all-opened", nodes: ["b", "c"] })).toMatchObject({ open: ["a", "b", "c"], tiles: true });
  expect(after(show("a"), addressEvent("a,b/shell"))).toMatchObject({ open: ["a", "b/shell"], current: "b/shell", tiles: true });
  expect(after(addressEvent("a"))).toMatchObject({ open: ["a"], tiles: false });
});

test("the form for many nodes is shown until it is toggled or a console is shown", () => {
  const broadcast: LayoutEvent = { type: "broadcast-toggled" };
  expect(after(broadcast).broadcast).toBe(true);
  for (const event of [broadcast, show("a"), { type: "tiles-chosen", tiles: false } as const])
    expect(after(broadcast, event).broadcast).toBe(false);
});
