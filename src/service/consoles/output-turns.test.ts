import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { OutputTurns } from "./output-turns.ts";

/** Prints pieces of 64 KiB without end, as fast as it may. Returns how many. */
function flood(turns: OutputTurns, user: string): { pieces: number; stop: boolean } {
  const state = { pieces: 0, stop: false };
  void (async () => {
    while (!state.stop) {
      state.pieces += 1;
      await turns.count(user, 64 << 10);
    }
  })();
  return state;
}

test("in one turn of the event loop few bytes pass, however many programs print", async () => {
  const turns = new OutputTurns();
  const floods = Array.from({ length: 50 }, () => flood(turns, "ann"));
  const total = () => floods.reduce((sum, { pieces }) => sum + pieces, 0);
  await turn();
  const first = total();
  for (let index = 0; index < 100; index += 1) await turn();
  expect(total() - first).toBeGreaterThan(90);
  expect(total() - first).toBeLessThanOrEqual(110);
  for (const each of floods) each.stop = true;
});

test("users have equal shares, and so have the programs of one user", async () => {
  const turns = new OutputTurns();
  const many = Array.from({ length: 20 }, () => flood(turns, "ann"));
  const one = flood(turns, "bob");
  for (let index = 0; index < 400; index += 1) await turn();
  const ann = many.reduce((sum, { pieces }) => sum + pieces, 0);
  expect(one.pieces / (ann + one.pieces)).toBeGreaterThan(0.4);
  const counts = many.map(({ pieces }) => pieces);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  for (const each of [...many, one]) each.stop = true;
});

test("little output never waits if nobody else prints", async () => {
  const turns = new OutputTurns();
  for (let index = 0; index < 10; index += 1) {
    expect(turns.count("ann", 1_000)).toBeUndefined();
    await turn();
  }
});
