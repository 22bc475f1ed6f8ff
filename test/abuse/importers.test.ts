import { expect, test } from "vitest";
import { seedOf } from "../seed.ts";
import { fuzzImporters, seeds, tryImport } from "./fuzz-importers.ts";

/** A hang, not a figure: ordinary imports take a hundredth. */
const limitMs = 60_000;

test.each(seeds().map((seed) => [`${seed.format} ${seed.name}`, seed] as const))(
  "%s is imported or clearly refused",
  async (_name, seed) => {
    expect(await tryImport(seed, limitMs)).toBeUndefined();
  },
);

test("changed files are imported or clearly refused", async () => {
  const { inputs, failures } = await fuzzImporters({
    seed: seedOf(process.env.LABWRIGHT_SEED),
    milliseconds: 60_000,
    inputs: 500,
    limitMs,
  });
  expect(failures.map(({ message }) => message)).toEqual([]);
  expect(inputs).toBeGreaterThan(0);
});
