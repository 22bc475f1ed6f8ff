import { expect, test } from "vitest";
import type { HostSession } from "../../hosts/host.ts";
import { readIntent } from "../../intent/read/read.ts";
import { Work } from "../work/work.ts";
import { configProblems } from "./config-problems.ts";

test("nodes that share a long configuration with many mistakes are checked in a bounded time, and each line is reported once", async () => {
  const nodes = Array.from({ length: 500 }, (_, index) => `  n${index}: {template: frr, startup-config: f}\n`).join("");
  const yaml = `name: x\nnodes:\n${nodes}`;
  const files = { f: "wrong\n".repeat(11_000) };
  const lab = readIntent(yaml, files).lab!;
  const problems = Array.from({ length: 100 }, (_, index) => ({ line: index + 1, problem: "unknown command" }));
  const host = { checkConfigs: async (configs: readonly unknown[]) => configs.map(() => problems) } as Pick<HostSession, "checkConfigs">;
  const work = new Work();
  const started = process.cpuUsage();
  const found = await configProblems({ work } as Parameters<typeof configProblems>[0], host, { lab, yaml, files });
  const { user } = process.cpuUsage(started);
  await work.close();
  expect(found.map(({ line }) => line)).toEqual(problems.map(({ line }) => line));
  // To split the text for each mistake took 10 seconds.
  expect(user / 1e6).toBeLessThan(5);
});
