import { expect, test } from "vitest";
import { keyCommand } from "./topology-keys.ts";

const press = (
  key: string,
  canMoveNode = false,
  modifiers: { readonly altKey?: true; readonly ctrlKey?: true; readonly metaKey?: true; readonly shiftKey?: true } = {},
  canResize = false,
) => keyCommand({ key, altKey: false, ctrlKey: false, metaKey: false, shiftKey: false, ...modifiers }, canMoveNode, canResize);

test("arrow keys pan, even if the focus is on a node", () => {
  expect(press("ArrowRight")).toEqual({ kind: "pan", dx: -40, dy: 0 });
  expect(press("ArrowUp", true)).toEqual({ kind: "pan", dx: 0, dy: 40 });
});

test("Alt, Shift and an arrow key resize the shape with the focus", () => {
  expect(press("ArrowRight", true, { altKey: true, shiftKey: true }, true)).toEqual({ kind: "resize", dx: 20, dy: 0 });
  expect(press("ArrowRight", true, { altKey: true, shiftKey: true })).toMatchObject({ kind: "moveNode" });
});

test("Alt and an arrow key move the node with the focus, and do nothing without one", () => {
  expect(press("ArrowLeft", true, { altKey: true })).toEqual({ kind: "moveNode", dx: -20, dy: 0 });
  expect(press("ArrowDown", true, { altKey: true })).toEqual({ kind: "moveNode", dx: 0, dy: 20 });
  expect(press("ArrowDown", false, { altKey: true })).toBeUndefined();
});

test("plus, minus, zero and Escape zoom, show all and deselect", () => {
  expect(["+", "-", "0", "Escape"].map((key) => press(key))).toEqual([
    { kind: "zoom", by: 1.25 },
    { kind: "zoom", by: 0.8 },
    { kind: "fit" },
    { kind: "deselect" },
  ]);
});

test("shortcuts of the browser and other keys are left alone", () => {
  for (const modifiers of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }] as const)
    expect(press("+", true, modifiers)).toBeUndefined();
  expect(press("a")).toBeUndefined();
});
