import { totalmem } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";
import { SlowTestsFirst } from "./scripts/slow-tests-first.ts";
import { seedOf } from "./test/seed.ts";

// Workers inherit it: all files of a run draw from one seed. A run that vitest starts again in watch mode keeps it.
process.env.LABWRIGHT_SEED = String(seedOf(process.env.LABWRIGHT_SEED));

// Services that tests start leave the machine's own hosts file alone.
process.env.LABWRIGHT_HOSTS_FILE ??= "none";

/** Tests wait much, so there are three workers for each core of a small machine, but no more than fit into memory. */
const workerBytes = 1.5 * 2 ** 30;
const maxWorkers = Math.max(2, Math.min(6, Math.floor(totalmem() / workerBytes)));

/**
 * Tests outside of `npm test`, by the end of their names, which CONTRIBUTING.md explains. LABWRIGHT_TESTS chooses one of them, or all files; a run that names such
 * a file on the command line has it, too.
 */
const tiers: Readonly<Record<string, string>> = { extended: "**/*.extended.test.ts", faults: "**/*.faults.test.ts" };
const chosen = process.env.LABWRIGHT_TESTS ?? (process.argv.some((word) => /\.(extended|faults)\./.test(word)) ? "all" : "");
const only = tiers[chosen];
if (chosen !== "" && chosen !== "all" && only === undefined)
  throw new Error(`LABWRIGHT_TESTS is ${JSON.stringify(chosen)}; known: ${Object.keys(tiers).join(", ")}, all`);

export default defineConfig({
  test: {
    include: only === undefined ? ["native/**/*.test.ts", "src/**/*.test.ts", "test/**/*.test.ts"] : [only],
    exclude: [...configDefaults.exclude, ...(chosen === "" ? Object.values(tiers) : [])],
    setupFiles: ["test/seed.setup.ts"],
    globalSetup: ["test/seed.announce.ts", "test/abandoned.setup.ts"],
    reporters: ["default", "./scripts/skipped-tests.ts"],
    // For the list of skipped tests: its reasons are the conditions in the lines that declare them.
    includeTaskLocation: true,
    isolate: false,
    // A worker keeps the modules of all files, and makes much short-lived data: with the defaults a sixth of the processor time is spent on collecting it.
    execArgv: ["--max-semi-space-size=64", "--single-threaded-gc"],
    // Limits for tests that hang. On a busy machine a test takes many times its usual time.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 40_000 } },
    maxWorkers,
    sequence: { sequencer: SlowTestsFirst },
  },
});
