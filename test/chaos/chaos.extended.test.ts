import { expect, test } from "vitest";
import { seedOf } from "../seed.ts";
import { chaos } from "./chaos.ts";

/** LABWRIGHT_CHAOS_ROUNDS of LABWRIGHT_SEED; `npm run chaos` makes a thousand of another seed. */
const seed = seedOf(process.env.LABWRIGHT_SEED);
const rounds = Number(process.env.LABWRIGHT_CHAOS_ROUNDS ?? 6);

test(`${rounds} rounds in which parts of the service and of a lab are killed leave nothing lost, wrong or behind`, {
  timeout: 120_000 + rounds * 60_000,
}, async () => {
  const { done, hits, failures } = await chaos({ seed, rounds });
  expect(failures).toEqual([]);
  expect(done).toBe(rounds);
  // A run in which no kill hit anything has shown nothing.
  expect(Object.keys(hits)).not.toEqual([]);
});
