import { expect, test } from "vitest";
import { type DrawerSize, sizeReducer } from "./drawer-size.ts";

const size: DrawerSize = { height: 320, isMaximised: false };

test("the drawer is never smaller than its bar and some lines, and leaves room for the drawing", () => {
  expect(sizeReducer(size, { type: "resized", height: 5 }, 900).height).toBe(120);
  expect(sizeReducer(size, { type: "resized", height: 2_000 }, 900).height).toBe(780);
  expect(sizeReducer(size, { type: "resized", height: 400.4 }, 900).height).toBe(400);
});

test("an arrow key changes the shown height, also of a drawer that was stored in a larger window", () => {
  expect(sizeReducer(size, { type: "stepped", by: 32 }, 900).height).toBe(352);
  expect(sizeReducer({ ...size, height: 1_000 }, { type: "stepped", by: -32 }, 900).height).toBe(748);
});

test("a maximised drawer returns to its height, and a resize ends the maximised state", () => {
  const maximised = sizeReducer(size, { type: "maximised-toggled" }, 900);
  expect(maximised).toEqual({ height: 320, isMaximised: true });
  expect(sizeReducer(maximised, { type: "maximised-toggled" }, 900)).toEqual(size);
  expect(sizeReducer(maximised, { type: "resized", height: 200 }, 900)).toEqual({ height: 200, isMaximised: false });
});
