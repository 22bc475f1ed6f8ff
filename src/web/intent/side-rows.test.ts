import { expect, test } from "vitest";
import { shownRows, sideRows } from "./side-rows.ts";

test("changed lines are beside each other, with the part that differs", () => {
  const rows = sideRows("a\ndelay 10 ms\nz", "a\ndelay 250 ms\nz");
  expect(rows).toHaveLength(3);
  expect(rows[1]).toEqual({
    before: { line: 2, text: "delay 10 ms", changed: [6, 7] },
    after: { line: 2, text: "delay 250 ms", changed: [6, 8] },
    isSame: false,
  });
});

test("added and removed lines have an empty other side, and later lines keep their own numbers", () => {
  expect(sideRows("a\nb\nc", "a\nc\nd").map(({ before, after }) => [before?.line, after?.line])).toEqual([
    [1, 1],
    [2, undefined],
    [3, 2],
    [undefined, 3],
  ]);
});

test("unchanged lines far from a difference are left out", () => {
  const lines = Array.from({ length: 20 }, (_, at) => `line ${at + 1}`);
  const shown = shownRows(sideRows(lines.join("\n"), lines.with(10, "changed").join("\n")));
  expect(shown[0]).toEqual({ hidden: 7 });
  expect(shown.at(-1)).toEqual({ hidden: 6 });
  expect(shown).toHaveLength(9);
  expect(shownRows(sideRows("same", "same"))).toEqual([{ hidden: 1 }]);
});
