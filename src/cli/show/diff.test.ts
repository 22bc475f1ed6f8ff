import fc from "fast-check";
import { expect, test } from "vitest";
import { unifiedDiff } from "./diff.ts";

test("a changed line is shown as removed and added, with three lines of context", () => {
  const before = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`).join("");
  expect(unifiedDiff(before, before.replace("line 10\n", "line ten\n"), "lab.yaml")).toBe(
    ["--- lab.yaml", "+++ lab.yaml", "@@ -7,7 +7,7 @@", " line 7", " line 8", " line 9", "-line 10", "+line ten"]
      .concat([" line 11", " line 12", " line 13"])
      .join("\n"),
  );
  expect(unifiedDiff(before, before, "lab.yaml")).toBe("");
});

test("applying the hunks to the old text gives the new text", () => {
  const text = fc
    .array(fc.constantFrom("a", "b", "c", "  d: 1", ""), { maxLength: 30 })
    .map((list) => list.map((line) => `${line}\n`).join(""));
  fc.assert(
    fc.property(text, text, (before, after) => {
      expect(patched(before, unifiedDiff(before, after, "x"))).toBe(after);
    }),
    { numRuns: 150 },
  );
});

/** Applies a diff as patch(1) does: reads the position of each hunk from its header and checks every context line. */
function patched(before: string, diff: string): string {
  const old = before.split("\n").slice(0, -1);
  const out: string[] = [];
  let at = 0;
  for (const line of diff.split("\n").slice(2)) {
    const head = /^@@ -(\d+),(\d+) \+(\d+),\d+ @@$/.exec(line);
    if (head !== null) {
      const start = Number(head[1]) - (head[2] === "0" ? 0 : 1);
      out.push(...old.slice(at, start));
      at = start;
      continue;
    }
    if (line[0] === "+") out.push(line.slice(1));
    else {
      expect(old[at]).toBe(line.slice(1));
      at++;
      if (line[0] === " ") out.push(line.slice(1));
    }
  }
  return [...out, ...old.slice(at)].map((line) => `${line}\n`).join("");
}

test("two large texts without common lines are compared quickly", () => {
  const many = (word: string) => Array.from({ length: 20_000 }, (_, index) => `${word} ${index}\n`).join("");
  const begin = performance.now();
  expect(unifiedDiff(many("old"), many("new"), "x").split("\n").length).toBe(40_003);
  expect(performance.now() - begin).toBeLessThan(30_000);
});
