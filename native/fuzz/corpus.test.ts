import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sanitizedCommon } from "../common.fixture.ts";
import { compileTarget, fuzzTargets, seeds } from "./targets.ts";

let work: string;
let common: readonly string[];
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "labwright-corpus-"));
  common = await sanitizedCommon(join(work, "common"));
});
afterAll(() => rm(work, { recursive: true, force: true }));

test("there are fuzz targets", () => {
  expect(fuzzTargets.length).toBeGreaterThan(5);
});

test.each(fuzzTargets)("the parser of $id survives its seeds under AddressSanitizer and UndefinedBehaviorSanitizer", async (target) => {
  const files = seeds(target);
  expect(files.length).toBeGreaterThan(0);
  const program = join(work, target.id.replace("/", "-"));
  await compileTarget(target, program, "replay", common);
  const { stderr } = await promisify(execFile)(program, files, { env: { ASAN_OPTIONS: "detect_leaks=0" } });
  expect(stderr).toContain(`${files.length} inputs\n`);
});
