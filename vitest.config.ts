import { defineConfig } from "vitest/config";
import { seedOf } from "./test/seed.ts";

// Workers inherit it: all files of a run draw from one seed. A run that vitest starts again in watch mode keeps it.
process.env.LABWRIGHT_SEED = String(seedOf(process.env.LABWRIGHT_SEED));

export default defineConfig({
  test: {
    include: ["native/**/*.test.ts", "src/**/*.test.ts", "test/**/*.test.ts"],
    setupFiles: ["test/seed.setup.ts"],
    globalSetup: ["test/seed.announce.ts", "test/abandoned.setup.ts"],
    reporters: ["default", "./scripts/skipped-tests.ts"],
    // Where a skipped test is declared: its condition is the reason that the list at the end of the run gives.
    includeTaskLocation: true,
    isolate: false,
    // Bounds for what hangs, all of them: on a busy machine things take many times what they take on a quiet one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 40_000 } },
    // Twice the cores of a small machine: much of a test is waiting.
    maxWorkers: 4,
  },
});
