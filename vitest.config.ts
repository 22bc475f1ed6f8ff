import { defineConfig } from "vitest/config";
import { seedOf } from "./test/seed.ts";

// Workers inherit it: all files of a run draw from one seed. A run that vitest starts again in watch mode keeps it.
process.env.LABWRIGHT_SEED = String(seedOf(process.env.LABWRIGHT_SEED));

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    setupFiles: ["test/seed.setup.ts"],
    globalSetup: ["test/seed.announce.ts", "test/abandoned.setup.ts"],
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A bound for what hangs, as all of them: one second is little on a busy machine.
    expect: { poll: { timeout: 20_000 } },
    maxWorkers: 2,
  },
});
