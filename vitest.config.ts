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

/** Tests of killed, hanging and starved parts: minutes of work, which `npm run faults` does. */
const faults = "**/*.faults.test.ts";
const onlyFaults = process.env.LABWRIGHT_FAULTS === "1";

export default defineConfig({
  test: {
    include: onlyFaults ? [faults] : ["native/**/*.test.ts", "src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: [...configDefaults.exclude, ...(onlyFaults ? [] : [faults])],
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
