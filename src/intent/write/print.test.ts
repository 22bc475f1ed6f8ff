import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraryLab } from "../lab/lab.arbitrary.ts";
import { readIntent } from "../read/read.ts";
import { printLab } from "./print.ts";

test("a printed lab reads back as the same lab", () => {
  fc.assert(
    fc.property(arbitraryLab({ hasShapes: true, hasTunnels: true }), (lab) => {
      const { yaml, files } = printLab(lab);
      const { lab: read, diagnostics } = readIntent(yaml, files);
      expect(diagnostics).toEqual([]);
      expect(read).toStrictEqual(lab);
    }),
    { numRuns: 100 },
  );
});

test("lists are written at any length", () => {
  const { lab } = readIntent("name: long\nnodes: {h1: {template: linux}}\n");
  const [node] = lab!.nodes;
  const exec = Array.from({ length: 200_000 }, (_, i) => `echo ${i}`);
  expect(printLab({ ...lab!, nodes: [{ ...node!, exec }] }).yaml).toContain("- echo 0\n      - echo 1\n");
});
