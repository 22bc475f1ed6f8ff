import { expect, test } from "vitest";
import { checkLabPattern, matchesPath } from "./lab-patterns.ts";

function matches(text: string, path: string): boolean {
  const checked = checkLabPattern(text);
  if ("problem" in checked) throw new Error(checked.problem);
  return matchesPath(checked.pattern, path);
}

test.each([
  ["/ci-*", ["/ci-1", "/ci-", "/ci-a.b c"], ["/ci", "/xci-1", "/ci-1/x", "/a/ci-1"]],
  ["ci-?", ["/ci-1"], ["/ci-", "/ci-12"]],
  ["/courses/**", ["/courses", "/courses/a", "/courses/a/b/c"], ["/course", "/x/courses/a"]],
  ["/**/lab", ["/lab", "/a/lab", "/a/b/lab"], ["/lab/a", "/alab"]],
  ["/a/*/c", ["/a/b/c"], ["/a/c", "/a/b/b/c"]],
  ["*a*b*", ["/ab", "/xaxbx"], ["/ba", "/a/b"]],
  ["**", ["/a", "/a/b"], []],
  ["/exact", ["/exact"], ["/exac", "/exactly", "/Exact"]],
  ["/a.b", ["/a.b"], ["/axb"]],
])("the pattern %s of labs matches whole paths, and * stays within a segment", (text, yes, no) => {
  expect(yes.filter((path) => !matches(text, path))).toEqual([]);
  expect(no.filter((path) => matches(text, path))).toEqual([]);
});

test("a pattern with many stars takes no long time, and a malformed pattern is a problem", () => {
  expect(matches("*a".repeat(32), `/${"a".repeat(31)}b`)).toBe(false);
  expect(matches("/**/**/**/**/**/**/**/x", "/a/a/a/a/a/a/a/a")).toBe(false);
  for (const text of ["", "/", "/a//b", "/../b", "/a/[b]", "/a\n", "/1/2/3/4/5/6/7/8/9", "x".repeat(65)]) {
    expect(checkLabPattern(text)).toHaveProperty("problem");
  }
});
