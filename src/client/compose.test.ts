import { expect, test } from "vitest";
import { type OperationId, type OperationRow, operations } from "../contract/operations.ts";
import { composeCall, type Input } from "./compose.ts";

const timeOf = (id: OperationId, input: Input, options = {}) => composeCall(id, operations[id], input, options, {}).timeoutMs;

test.each(Object.entries<OperationRow>(operations).filter(([, { path }]) => !path.includes("{")))(
  "%s has the time-out of its row, time for the service's own word about a slow host, and the caller's own where one is given",
  (id, row) => {
    expect(timeOf(id as OperationId, {})).toBe(row.timeoutMs + (row.errors.includes("host_timeout") ? 5_000 : 0));
    expect(timeOf(id as OperationId, {}, { timeoutMs: 7 })).toBe(7);
    expect(composeCall(id as OperationId, row, {}, {}, { usualMs: 8 }).timeoutMs).toBe(8);
  },
);

test.each<[OperationId, Input, number]>([
  ["execConsole", { command: "x" }, 20_000],
  ["execConsole", { command: "x", timeout_ms: 1_000 }, 20_000],
  ["execConsole", { command: "x", timeout_ms: 60_000 }, 65_000],
  ["execConsoleMany", { command: "x", targets: [{ node: "a" }, { node: "b" }] }, 20_000],
  [
    "execConsoleMany",
    {
      command: "x",
      targets: [
        { node: "a", timeout_ms: 20_000 },
        { node: "b", timeout_ms: 40_000 },
      ],
    },
    45_000,
  ],
  ["execConsoleMany", { timeout_ms: 50_000, targets: [{ node: "a", timeout_ms: 1_000 }] }, 55_000],
  ["runConsole", { node: "a", steps: [{ send: "x" }] }, 185_000],
  ["runConsole", { node: "a", steps: [{ timeout_ms: 180_000 }, { expect: "x" }, { timeout_ms: 5_000 }] }, 205_000],
])("%s of %j may take what its commands ask for: %d ms", (id, input, ms) => {
  expect(timeOf(id, input)).toBe(ms);
  expect(timeOf(id, input, { timeoutMs: 7 })).toBe(7);
});
