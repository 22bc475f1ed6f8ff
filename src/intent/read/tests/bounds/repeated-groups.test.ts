import { expect, test } from "vitest";
import { readIntent } from "../../read.ts";

test("a group that is named many times costs as much as once, and the last place of its name decides", () => {
  const env = (value: string) => `{${Array.from({ length: 1000 }, (_, i) => `A${i}: ${value}`).join(", ")}}`;
  const names = ["a", ...Array.from({ length: 50_000 }, () => "b"), "a"];
  const text = `name: x\ngroups:\n  a: {ram: 128, env: {A0: first, A1: first}}\n  b: {ram: 256, env: ${env("second")}}\nnodes:\n  n: {template: linux, groups: [${names.join(", ")}]}\n`;
  const before = performance.now();
  const { lab, diagnostics } = readIntent(text);
  const ms = performance.now() - before;
  expect(diagnostics).toEqual([]);
  const [node] = lab?.nodes ?? [];
  expect([node?.ram, node?.env["A0"], node?.env["A999"]]).toEqual([128, "first", "second"]);
  // Once for each name it takes several seconds.
  expect(ms).toBeLessThan(2000);
});
