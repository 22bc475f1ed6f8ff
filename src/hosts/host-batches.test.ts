import { expect, test } from "vitest";
import type { Operation, Step } from "../engine/model/plan.ts";
import type { Progress } from "./host.ts";
import { StepLog, stepBatches } from "./host-batches.ts";

function operation(id: string, step: Step): Operation {
  const reason = { code: "differs", text: "" } as const;
  return { id, of: id, op: "update", kind: "node", key: id, reason, disruption: "none", affects: [], changes: [], prune: false, step };
}

const start = (node: string) => operation(`start ${node}`, { do: "start", node });
const stop = (node: string, mode: 1 | 3) => operation(`stop ${node}`, { do: "stop", node, mode });
const removeLink = (link: string) => operation(`remove ${link}`, { do: "delete-link", link });

test("neighbours of one kind are one batch, and stops of each mode are a batch of their own", () => {
  const steps = [
    stop("a", 1),
    stop("b", 1),
    stop("c", 3),
    removeLink("x"),
    operation("node", { do: "delete-node", node: "a" }),
    start("d"),
  ];
  expect(stepBatches(steps).map((batch) => batch.map(({ id }) => id))).toEqual([
    ["stop a", "stop b"],
    ["stop c"],
    ["remove x", "node"],
    ["start d"],
  ]);
  expect(stepBatches([])).toEqual([]);
});

test("each step is reported as running and done once, in order", () => {
  const steps = [start("a"), start("b"), start("c")];
  const reported: string[] = [];
  const progress = { step: (id: string, state: string) => reported.push(`${id}: ${state}`) } as unknown as Progress;
  const log = new StepLog(steps, progress);
  log.begin(steps.slice(0, 2));
  expect(log.locked("before", "during").code).toBe("lab_locked");
  log.finish(steps.slice(0, 1));
  log.finish(steps.slice(0, 2));
  expect(reported).toEqual(["start a: running", "start a: done", "start b: running", "start b: done"]);
  expect([log.applied, log.remaining]).toEqual([["start a", "start b"], ["start c"]]);
  expect(log.locked("before", "during")).toMatchObject({
    code: "lab_locked_mid_apply",
    message: "during",
    data: { applied: ["start a", "start b"], remaining: ["start c"] },
  });
});
