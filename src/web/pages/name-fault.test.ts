import { expect, test } from "vitest";
import { NAME } from "../../intent/read/node-fields.ts";
import { nameFault } from "./name-fault.ts";

test("a name that no lab may have is explained by its first fault", () => {
  expect(nameFault("two hosts")).toMatch(/may not contain spaces: use letters/);
  expect(nameFault("lab<b>")).toContain('may not contain "<"');
  expect(nameFault("x".repeat(80))).toBe("A name has at most 64 characters: this one has 80.");
  expect(nameFault("-lab")).toBe("A name begins with a letter or a digit.");
});

test("exactly the names that the intent allows have no fault", () => {
  for (const name of ["a", "lab-1.b_c", "x".repeat(64), "x".repeat(65), "_a", "é", "a b", "9"]) {
    expect([name, nameFault(name) === undefined]).toEqual([name, NAME.test(name)]);
  }
  expect(nameFault("")).toBeUndefined();
});
