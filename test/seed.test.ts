import { readConfigureGlobal } from "fast-check";
import { expect, test } from "vitest";
import { seedOf } from "./seed.ts";

test("every property of this run draws from the seed of the run", () => {
  expect(process.env.LABWRIGHT_SEED).toMatch(/^-?\d+$/);
  expect(readConfigureGlobal()).toMatchObject({ seed: Number(process.env.LABWRIGHT_SEED) });
});

test("a seed is what LABWRIGHT_SEED says, and without it the same in every run", () => {
  expect([seedOf("7"), seedOf("-12"), seedOf(undefined), seedOf("")]).toEqual([7, -12, 1, 1]);
  expect(new Set(Array.from({ length: 20 }, () => seedOf("random"))).size).toBeGreaterThan(1);
  expect(new Set(Array.from({ length: 20 }, () => seedOf(undefined, "random"))).size).toBeGreaterThan(1);
});

test.each(["seven", "1.5", "99999999999", "0x"])("a seed of %s is refused, not guessed", (given) => {
  expect(() => seedOf(given)).toThrow(/LABWRIGHT_SEED/);
});
