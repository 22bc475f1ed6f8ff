import { expect } from "vitest";
import { readIntent } from "../../read.ts";

/** Limits of processor time, several times the usual amount. Time by the clock would depend on the load of the machine. */
export const within = (milliseconds: number, yaml: string, code: string) => {
  const started = process.cpuUsage();
  const { lab: read, diagnostics } = readIntent(yaml);
  const { user, system } = process.cpuUsage(started);
  expect((user + system) / 1000).toBeLessThan(5 * milliseconds);
  expect(read).toBeUndefined();
  expect(diagnostics.map((diagnostic) => diagnostic.code)).toContain(code);
  expect(diagnostics.length).toBeLessThanOrEqual(1001);
};
