import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { conditionAt } from "../scripts/skipped-tests.ts";

const root = join(import.meta.dirname, "..");

test("a run ends with its skipped tests, each with its reason", async () => {
  // Below the repository, where vitest and its types are found.
  const folder = await mkdtemp(join(root, "node_modules/.skipped-tests-"));
  try {
    await writeFile(
      join(folder, "some.test.ts"),
      `import { beforeAll, describe, expect, test } from "vitest";
const hasKvm = false;
test("runs", () => expect(1).toBe(1));
test("stops itself", (context) => context.skip("the kernel has no netem"));
describe.runIf(hasKvm)("guests", () => {
  test("one", () => {});
  test("two", () => {});
});
describe("a suite", () => {
  beforeAll(() => { throw new Error("no"); });
  test("three", () => {});
});
test.skip("a driver (skipped: the host has no disks)", () => {});
`,
    );
    const options = { reporters: [join(root, "scripts/skipped-tests.ts")], includeTaskLocation: true };
    await writeFile(join(folder, "vitest.config.js"), `export default ${JSON.stringify({ test: options })};\n`);
    const env = { ...process.env, LABWRIGHT_SKIPPED_TESTS: undefined };
    const { stdout, stderr } = spawnSync(join(root, "node_modules/.bin/vitest"), ["run", `--root=${folder}`], {
      encoding: "utf8",
      timeout: 150_000,
      env,
    });
    const lines = stdout.split("\n").filter((line) => line.startsWith("skipped"));
    expect(lines, stderr).toEqual([
      "skipped, 1 test: a hook before it failed",
      "skipped, 1 test: the host has no disks",
      "skipped, 1 test: the kernel has no netem",
      "skipped, 2 tests: unless hasKvm",
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a condition about the user is the reason that root is needed", async () => {
  const file = new URL("../src/hosts/local/host.test.ts", import.meta.url).pathname;
  const line = (await readFile(file, "utf8")).split("\n").findIndex((text) => text.includes("skipIf(process.getuid")) + 1;
  expect(conditionAt(file, line, 1000)).toBe("needs root");
});
