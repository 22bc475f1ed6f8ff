import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readIntent } from "../../read.ts";
import { within } from "./read-bounds.fixture.ts";

describe("work is bounded", () => {
  test("for a billion laughs", () => {
    const levels = Array.from(
      { length: 30 },
      (_, index) => `l${index}: &l${index} [${Array.from({ length: 10 }, () => (index === 0 ? "x" : `*l${index - 1}`)).join(", ")}]`,
    );
    within(4000, `name: x\n${levels.join("\n")}\n`, "too_large");
    const maps = Array.from(
      { length: 30 },
      (_, index) => `m${index}: &m${index} {a: ${index === 0 ? "x" : `*m${index - 1}`}, b: ${index === 0 ? "x" : `*m${index - 1}`}}`,
    );
    within(4000, `name: x\n${maps.join("\n")}\n`, "too_large");
  });

  test.each(["[", "{a: ", "- ", "? ", "a: [{"])("for deep nesting with %j", (open) => {
    within(4000, `name:\n  ${open.repeat(200_000)}`, "too_deep");
  });

  test("for a startup-config of megabytes", () => {
    const { diagnostics } = readIntent("name: x\nnodes: {a: {template: pc, startup-config: a.conf}}\n", {
      "a.conf": "x\n".repeat(600_000),
    });
    expect(diagnostics.map(({ code, path }) => [code, path])).toEqual([["too_large", "/nodes/a/startup-config"]]);
  });

  test("for more characters than a lab can have, also if they are written plainly", () => {
    within(4000, `name: x\ndescription: ${"a".repeat(9_300_000)}\n`, "too_large");
  });

  test("for a body of 33 MB", () => {
    within(4000, `name: x\n${"# comment\n".repeat(3_355_000)}`, "too_large");
    within(20_000, `name: x\nnodes:\n${"  a: 1\n".repeat(1_500_000)}`, "too_large");
  });
});

test("no text makes readIntent throw; without a lab there is an error, and every place is valid", () => {
  const parts = fc.constantFrom(
    "name: x\n",
    "nodes:\n",
    "  r1: {template: frr}\n",
    "links: [[r1:eth1, r1:eth2]]\n",
    "- ",
    "{",
    "}",
    "[",
    "]",
    ": ",
    "&a ",
    "*a ",
    "<<: ",
    "|\n",
    '"',
    "'",
    "\t",
    "\r\n",
    "#",
    "!x ",
    "? ",
    "~",
    "---\n",
    "%",
    "\ud800",
    "é",
  );
  const text = fc.oneof(
    fc.array(parts, { maxLength: 12 }).map((some) => some.join("")),
    fc.string({ unit: "binary" }),
  );
  fc.assert(
    fc.property(text, (yaml) => {
      const { lab: read, diagnostics } = readIntent(yaml);
      expect(read === undefined).toBe(diagnostics.some(({ severity }) => severity === "error"));
      for (const { line, column, end_line, end_column } of diagnostics) {
        expect(Math.min(line, column)).toBeGreaterThanOrEqual(1);
        expect(line).toBeLessThanOrEqual(yaml.split("\n").length);
        expect(end_line).toBe(line);
        expect(end_column).toBeGreaterThanOrEqual(column);
      }
    }),
    { numRuns: 60 },
  );
});
