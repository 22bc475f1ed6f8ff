import { expect, test } from "vitest";
import { chaos } from "./chaos.ts";

/** Rounds of one seed; `npm run chaos` makes a thousand of another. */
const seed = Number(process.env.LABWRIGHT_CHAOS_SEED ?? 2);
const rounds = Number(process.env.LABWRIGHT_CHAOS_ROUNDS ?? 24);

test(`${rounds} rounds in which parts of the service and of a lab are killed leave nothing lost, wrong or behind`, {
  timeout: 60_000 + rounds * 15_000,
}, async () => {
  const { done, hits, failures } = await chaos({ seed, rounds });
  expect(failures).toEqual([]);
  expect(done).toBe(rounds);
  // A run in which no kill hit a change has shown nothing.
  const hit = Object.keys(hits).map((what) => what.split(" ")[0]);
  expect([...new Set(hit)].sort()).toEqual(["holder", "node", "service", "shaper", "tap"]);
});
