import { expect, test } from "vitest";
import type { Diagnostic } from "../../../contract/schemas/project.ts";
import { quickFix } from "./quick-fix.ts";

const problem = (more: Partial<Diagnostic>): Diagnostic => ({
  severity: "error",
  code: "unknown_key",
  message: 'unknown key "templ"',
  path: "",
  line: 2,
  column: 3,
  end_line: 2,
  end_column: 8,
  ...more,
});
const yaml = "a:\n  templ: frr # why\nb: 1";

test("a hint that names a word replaces the word of the message, and nothing else", () => {
  const fix = quickFix(problem({ hint: 'did you mean "template"?' }), yaml)!;
  expect(fix.replacement).toBe("template");
  expect(fix.apply(yaml)).toBe("a:\n  template: frr # why\nb: 1");
});

test("only the wrong part of an end of a link is replaced, and its quotes stay", () => {
  const text = 'l:\n  - ["nope:eth9", "r2:eth0"]';
  const fix = quickFix(problem({ message: 'no node "nope"', hint: 'did you mean "node"?', column: 6, end_column: 17 }), text)!;
  expect(fix.apply(text)).toBe('l:\n  - ["node:eth9", "r2:eth0"]');
});

test("a fix of a text that was edited meanwhile changes nothing", () => {
  const fix = quickFix(problem({ hint: 'did you mean "template"?' }), yaml)!;
  expect(fix.apply("a:\n  other: 1\n")).toBe("a:\n  other: 1\n");
});

test("other hints, other files, marks of several lines and marks without the word have no fix", () => {
  expect(quickFix(problem({ hint: "remove it" }), yaml)).toBeUndefined();
  expect(quickFix(problem({ hint: 'did you mean "x"?', file: "r1.conf" }), yaml)).toBeUndefined();
  expect(quickFix(problem({ hint: 'did you mean "x"?', end_line: 3 }), yaml)).toBeUndefined();
  expect(quickFix(problem({ hint: 'did you mean "x"?', message: 'unknown key "other"' }), yaml)).toBeUndefined();
});

test("a proposal in the message of a host has a fix, too", () => {
  const message = "node r1: the host has no template frrx; did you mean frr? (the same for 2 more)";
  const text = "a:\n  template: frrx # why";
  const fix = quickFix(problem({ message, hint: "labwright templates lists them", column: 13, end_column: 17 }), text)!;
  expect(fix.replacement).toBe("frr");
  expect(fix.apply(text)).toBe("a:\n  template: frr # why");
});
