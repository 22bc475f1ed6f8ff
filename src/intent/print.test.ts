import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraryLab } from "./lab.arbitrary.ts";
import { printLab } from "./print.ts";
import { readIntent } from "./read.ts";

test("what is printed reads back as the same lab", () => {
  fc.assert(
    fc.property(arbitraryLab(), (lab) => {
      const { yaml, files } = printLab(lab);
      const { lab: read, diagnostics } = readIntent(yaml, files);
      expect(diagnostics).toEqual([]);
      expect(read).toStrictEqual(lab);
    }),
    { numRuns: 300 },
  );
});
