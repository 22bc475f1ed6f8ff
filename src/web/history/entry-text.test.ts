import { expect, test } from "vitest";
import { changeTitle, outcomeText, stepsSummary } from "./entry-text.ts";

const lab = { nodes: 2, links: 1 };

test("an applied state is summarised by its steps, a saved text has none", () => {
  expect(changeTitle({ serial: 4, operation: "reconcileProject" })).toBe("#4 Apply");
  expect(changeTitle({ serial: 1 })).toBe("#1");
  expect(stepsSummary({ ...lab, job: "a", outcome: "finished", step_count: 1 })).toBe("1 step; 2 nodes, 1 link");
  expect(stepsSummary({ ...lab, job: "a" })).toBe("running; 2 nodes, 1 link");
  expect(stepsSummary(lab)).toBe("only the text; 2 nodes, 1 link");
});

test("an unusual outcome is shown", () => {
  expect(outcomeText({ outcome: "finished" })).toBeUndefined();
  expect(outcomeText({ outcome: "finished_after_restart" })).toBe("finished after restart");
});
