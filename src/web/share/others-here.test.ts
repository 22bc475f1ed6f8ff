import { expect, test } from "vitest";
import { othersHere } from "./others-here.ts";

test("the other users are named, and many of them counted", () => {
  const shown = (...users: readonly string[]) => othersHere(users, "ann");
  expect(shown("ann")).toBe("");
  expect(shown("ann", "bob")).toBe("bob is here");
  expect(shown("ann", "bob", "cat")).toBe("bob and cat are here");
  expect(shown("bob", "cat", "dan", "eve", "fay")).toBe("bob, cat, dan and 2 more are here");
});
