import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

/** The first thing that a new user runs. It checks its own steps, and that nothing is left. */
test.skipIf(process.getuid?.() !== 0)("npm run demo reaches its end", { timeout: 300_000 }, async () => {
  const demo = join(import.meta.dirname, "../scripts/demo.ts");
  const { code, output } = await new Promise<{ readonly code: number | string; readonly output: string }>((resolve) => {
    execFile(process.execPath, [demo], { timeout: 240_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : (error.code ?? error.signal ?? 1), output: `${stdout}\n${stderr}` });
    });
  });
  expect([code, output]).toEqual([0, expect.stringMatching(/No process, namespace, [^\n]* of the lab is left\.\n[\s\S]*Done in /)]);
});
