import { expect, test } from "vitest";
import { readIntent } from "../read/read.ts";
import { showDiagnostics } from "./show.ts";

function shown(yaml: string, files: Readonly<Record<string, string>> = {}, name?: string): string {
  return showDiagnostics(readIntent(yaml, files).diagnostics, { yaml, files, ...(name === undefined ? {} : { name }) });
}

test("a problem is shown with its line, carets under its place, and the hint", () => {
  expect(shown("name: x\nnodes:\n  r1: {template: frr, imgae: a}\n")).toBe(
    [
      'lab.yaml:3:23: error: unknown key "imgae" (unknown_key)',
      "  3 |   r1: {template: frr, imgae: a}",
      "    |                       ^^^^^",
      '    hint: did you mean "image"?',
    ].join("\n"),
  );
});

test("each problem is shown, under the name of the file", () => {
  const text = shown("nodes: {r1: {}}", { "../x": "" }, "campus.yaml");
  expect(text.split("\n").filter((line) => /^\S/.test(line))).toEqual([
    '../x:1:1: error: a file path has no ".." (invalid_path)',
    "campus.yaml:1:1: error: the lab has no name (missing_key)",
    'campus.yaml:1:9: error: the node "r1" has no template (missing_key)',
  ]);
});

test("a place without characters has one caret, and tabs stay in front of it", () => {
  expect(shown("name: x\nnodes: {a: {kind: pc, cpu:\t\t[1]}}").split("\n").slice(1, 3)).toEqual([
    "  2 | nodes: {a: {kind: pc, cpu:\t\t[1]}}",
    "    |                       ^^^",
  ]);
  expect(shown("name:\tx y").split("\n").slice(1, 3)).toEqual(["  1 | name:\tx y", "    |      \t^^^"]);
  expect(shown("name: x\nnodes: {a: {kind: pc, position: }, b: }").split("\n")[2]).toBe(`    | ${" ".repeat(35)}^`);
});

test("a very long line is cut to the part around the place", () => {
  const lines = shown(`name: x\ndescription: ${"a".repeat(5000)}\nlinks: [${"[a], ".repeat(1000)}]`).split("\n");
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(260);
  const at = lines.findLastIndex((line) => line.includes("^"));
  const caret = (lines[at] as string).indexOf("^");
  expect((lines[at - 1] as string).slice(caret, caret + 3)).toBe("[a]");
});

test("no diagnostics give an empty text", () => {
  expect(shown("name: x")).toBe("");
});
