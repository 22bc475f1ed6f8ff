import { expect, test } from "vitest";
import type { LiveNodeData } from "../../contract/schemas/observe.ts";
import { type LoadHistory, withLoad } from "./load-history.ts";

const node = (id: string, cpu?: number): LiveNodeData => ({
  id,
  node: id,
  unique_key: id,
  name: id,
  status: cpu === undefined ? "stopped" : "running",
  ...(cpu !== undefined && { cpu_percent: cpu, memory_bytes: 1 }),
});

test("the history has the samples of the last two minutes, at most 120 for each node", () => {
  let history: LoadHistory = new Map();
  for (let second = 0; second < 300; second++) history = withLoad(history, [node("r1", second)], second * 500);
  const samples = history.get("r1")!;
  expect(samples).toHaveLength(120);
  expect(samples.at(-1)).toMatchObject({ cpu: 299, at: 149_500 });
  history = withLoad(history, [node("r1", 1)], 149_500 + 119_000);
  expect(history.get("r1")!.every(({ at }) => at >= 148_500)).toBe(true);
});

test("a node that does not run, or does not exist any more, has no samples", () => {
  const history = withLoad(new Map(), [node("r1", 5), node("r2", 5)], 0);
  expect([...withLoad(history, [node("r1")], 1).keys()]).toEqual([]);
});
