import fc from "fast-check";
import { expect, test } from "vitest";
import { editIntent } from "./edit.ts";
import { arbitraryLab } from "./lab.arbitrary.ts";
import { printLab } from "./print.ts";
import { readIntent } from "./read.ts";

test("an intent that is edited to another lab reads as that lab", () => {
  fc.assert(
    fc.property(arbitraryLab(), arbitraryLab(), (a, b) => {
      const from = printLab(a);
      const { yaml, files } = editIntent(from.yaml, from.files, b);
      const { lab, diagnostics } = readIntent(yaml, files);
      expect(diagnostics).toEqual([]);
      expect(lab).toStrictEqual(b);
    }),
    { numRuns: 300 },
  );
});

test("an intent that is edited to its own lab is the same, byte for byte", () => {
  fc.assert(
    fc.property(arbitraryLab(), (lab) => {
      const from = printLab(lab);
      expect(editIntent(from.yaml, from.files, lab)).toStrictEqual(from);
    }),
    { numRuns: 100 },
  );
});
