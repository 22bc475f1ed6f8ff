import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compilerFlags } from "../src/hosts/local/setup/programs/compile.ts";
import { sanitizedCommon } from "./common.fixture.ts";

/** Tests in C: `native/<program>/tests/<name>.c`, each a program that ends with 0. They include the unit that they test, and get native/common. */

const run = promisify(execFile);
const sources = globSync(join(import.meta.dirname, "*/tests/*.c")).sort();
const tests = sources.map((source) => ({ id: `${basename(dirname(dirname(source)))}/${basename(source, ".c")}`, source }));

let work: string;
let common: readonly string[];
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), "labwright-native-"));
  common = await sanitizedCommon(join(work, "common"));
});
afterAll(() => rm(work, { recursive: true, force: true }));

test("there are tests in C", () => {
  expect(tests.length).toBeGreaterThan(3);
});

test.each(tests)("the test $id passes under AddressSanitizer and UndefinedBehaviorSanitizer", async ({ id, source }) => {
  const program = join(work, id.replace("/", "-"));
  await run("cc", [...compilerFlags("sanitized"), "-o", program, source, ...common, "-ljansson"]);
  await run(program, { cwd: work });
});
