import { expect, test } from "vitest";
import type { PullPolicy } from "../../intent/lab/lab.ts";
import type { PullRules } from "../model/plan.ts";
import { pullProblem } from "./blocked.ts";

const open: PullRules = { registries: ["a.example", "b.example"], defaultRegistry: "a.example" };

test.each<[string, PullPolicy | undefined, PullRules, string | undefined]>([
  ["a.example/frr:10", undefined, open, undefined],
  ["frr/frr:10", undefined, open, undefined],
  ["c.example/frr", undefined, { registries: "any" }, undefined],
  ["c.example/frr", undefined, open, "the registry c.example is not open to you, a.example, b.example are"],
  ["c.example/frr", undefined, { registries: [] }, "the registry c.example is not open to you, none is"],
  ["frr", undefined, { registries: ["b.example"] }, "the host has no default registry"],
  ["frr", undefined, { registries: [] }, undefined],
  ["a.example/frr:10", "never", open, "pull: never"],
])("the image %s with pull %s and %j can be pulled, or the plan states why not", (image, pull, rules, problem) => {
  if (problem !== undefined) expect(pullProblem(image, pull, rules)).toContain(problem);
  else if (rules.registries.length > 0) expect(pullProblem(image, pull, rules)).toBeUndefined();
  // Without registries, a name that is not a reference gets the usual message alone.
  else expect(pullProblem(image, pull, rules)).toBe("");
});
