import { expect, test } from "vitest";
import { groupedReport } from "./grouped-report.ts";

const line = (at: number, path: string, message = "has no counterpart here") =>
  ({ file: "a.yml", line: at, path, level: "dropped", message }) as const;

test("lines with one message about several parts are one, with the first line numbers", () => {
  const nodes = Array.from({ length: 8 }, (_, i) => line(10 + i, `/nodes/r${i}/cpu`));
  expect(groupedReport([line(1, "/version", "is not used"), ...nodes, line(30, "/nodes/r1/user")])).toEqual([
    "  a.yml:1: dropped /version: is not used",
    "  a.yml:10,11,12,13,14,15,…: dropped /nodes/*/cpu (8 parts): has no counterpart here",
    "  a.yml:30: dropped /nodes/r1/user: has no counterpart here",
  ]);
});

test("a few lines, and parts of different kinds, stay apart in their order", () => {
  const lines = [line(1, "/nodes/a/x"), line(4, "/links/0/x"), line(5, "/nodes/d/y"), line(3, "/nodes/c/x"), line(6, "")];
  expect(groupedReport(lines)).toEqual([
    "  a.yml:1: dropped /nodes/a/x: has no counterpart here",
    "  a.yml:4: dropped /links/0/x: has no counterpart here",
    "  a.yml:5: dropped /nodes/d/y: has no counterpart here",
    "  a.yml:3: dropped /nodes/c/x: has no counterpart here",
    "  a.yml:6: dropped /: has no counterpart here",
  ]);
});

test("items of lists are one kind of part", () => {
  const items = [0, 1, 2, 3].map((i) => line(i + 1, `/nodes/r1/binds/${i}`));
  expect(groupedReport(items)).toEqual(["  a.yml:1,2,3,4: dropped /nodes/r1/binds/* (4 parts): has no counterpart here"]);
});
