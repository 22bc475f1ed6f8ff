import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { TestSpecification, Vitest } from "vitest/node";
import { SlowTestsFirst, slowTests } from "../scripts/slow-tests-first.ts";

const root = join(import.meta.dirname, "..");

test("each slow test file exists", () => {
  expect(slowTests.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

test("slow files start first, in the order of the list", async () => {
  const results = {
    getTestSpecificationResult: () => ({ failed: false, duration: 1 }),
    getFileTestResults: () => ({ failed: false, duration: 1 }),
  };
  const sequencer = new SlowTestsFirst({ cache: results, config: { root } } as unknown as Vitest);
  const project = { name: "", config: { sequence: { groupOrder: 0 }, isolate: false } };
  const names = ["test/seed.test.ts", slowTests[3]!, "test/docs.test.ts", slowTests[0]!];
  const files = names.map((name) => ({ moduleId: join(root, name), project }) as unknown as TestSpecification);
  const sorted = await sequencer.sort(files);
  expect(sorted.map(({ moduleId }) => names.findIndex((name) => moduleId.endsWith(name)))).toEqual([3, 1, 0, 2]);
});
