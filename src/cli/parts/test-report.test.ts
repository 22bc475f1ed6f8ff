import { expect, test } from "vitest";
import { githubAnnotations, junitReport } from "./test-report.ts";

const tested = {
  lab: "/a",
  passed: 1,
  failed: 1,
  errors: 1,
  tests: [
    { name: "a: ping b", node: "a", check: "ping", outcome: "passed", message: "0 % loss", attempts: 1, duration_ms: 1500 },
    {
      name: "web <1>",
      node: "a",
      check: "http",
      outcome: "failed",
      message: 'status "500"\u0000\n::error::x',
      attempts: 3,
      duration_ms: 10,
    },
    { name: "c", node: "b", check: "command", outcome: "error", message: "b is stopped", attempts: 1, duration_ms: 0 },
  ],
} as const;

test("JUnit's report has one case for each test and node, and escapes what nodes wrote", () => {
  expect(junitReport({ ...tested, tests: [...tested.tests] })).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="/a" tests="3" failures="1" errors="1" time="1.510">
  <testcase classname="/a" name="a: ping b [a]" time="1.500"/>
  <testcase classname="/a" name="web &lt;1&gt; [a]" time="0.010">
    <failure message="status &quot;500&quot;\ufffd&#10;::error::x"/>
  </testcase>
  <testcase classname="/a" name="c [b]" time="0.000">
    <error message="b is stopped"/>
  </testcase>
</testsuite>
`);
});

test("an annotation names the line of the test, and its message is one line, so that a node cannot write commands of its own", () => {
  const yaml =
    "name: a\nnodes: {a: {template: linux}, b: {template: linux}}\ntests:\n  - {name: web <1>, from: a, http: http://b/}\n  - {name: c, from: b, command: x}\n";
  const file = { name: "x/lab.yaml", path: "/x/lab.yaml", yaml, files: {} };
  expect(githubAnnotations({ ...tested, tests: [...tested.tests] }, file as never)).toEqual([
    '::error file=x/lab.yaml,line=4,title=web <1> [a]::status "500"\u0000%0A::error::x',
    "::error file=x/lab.yaml,line=5,title=c [b]::b is stopped",
  ]);
});
