import { expect, test } from "vitest";
import { failureOf, runForEach } from "./each-failure.ts";
import { outcomeOf } from "./use-nodes-power.ts";

test("each failed node is named, and the others are done", () => {
  const outcomes = [
    { node: "r1", ok: true },
    { node: "r2", ok: false, message: "no memory" },
    { node: "r3", ok: false },
  ];
  const { done, failed } = outcomeOf("stop", ["r1", "r2", "r3"], outcomes);
  expect(done).toEqual(["r1"]);
  expect(failureOf("nodes did not stop", 3, failed)).toMatchObject({
    message: "2 of 3 nodes did not stop.",
    data: { text: "r2: no memory\nr3: did not stop; its log has the reason" },
  });
  expect(failureOf("nodes did not stop", 3, [])).toBeUndefined();
});

test("work goes on after a failure, at most four at a time", async () => {
  const done: number[] = [];
  let [running, most] = [0, 0];
  const work = async (item: number) => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
    if (item % 2 === 0) throw new Error(`refused ${item}`);
    done.push(item);
  };
  const all = runForEach("links were not suspended", [0, 1, 2, 3, 4, 5, 6], { nameOf: (item) => `link ${item}`, work });
  await expect(all).rejects.toMatchObject({
    message: "4 of 7 links were not suspended.",
    data: { text: expect.stringContaining("link 6: refused 6") },
  });
  expect([done, most]).toEqual([[1, 3, 5], 4]);
});
