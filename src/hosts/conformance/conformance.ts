import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Bench, type Cases, type ConformanceOptions, type ConformanceTarget, openBench } from "./bench.ts";
import { catalogueCases } from "./catalogue-cases.ts";
import { definitionCases } from "./definition-cases.ts";
import { speaking } from "./dialect.ts";
import { interruptedCases } from "./interrupted-cases.ts";
import { linkCases } from "./link-cases.ts";
import { powerCases } from "./power-cases.ts";

/** In the order in which they run. */
const cases: Cases = { ...catalogueCases, ...definitionCases, ...linkCases, ...powerCases, ...interruptedCases };

/** The tests that every driver must pass: call `hostConformance("memory", async () => ({…}))` in a test file of the driver. */
export function hostConformance(name: string, makeHost: () => Promise<ConformanceTarget>, options: ConformanceOptions = {}): void {
  describe(`${name} is a host`, () => {
    let target: ConformanceTarget;
    let bench: Bench;
    beforeAll(async () => {
      const made = await makeHost();
      target = options.dialect === undefined ? made : { ...made, host: speaking(made.host, options.dialect) };
      bench = await openBench(target, options);
    });
    afterEach(async () => bench.clear());
    afterAll(async () => {
      await bench?.session.close();
      await target?.close();
    });

    const skip = options.skip ?? {};
    for (const [title, check] of Object.entries(cases)) {
      const reason = Object.hasOwn(skip, title) ? skip[title] : undefined;
      if (reason === undefined) it(title, () => check(bench, target));
      else it.skip(`${title} (skipped: ${reason})`, () => {});
    }
    it("skips only cases that exist", () => {
      expect(Object.keys(skip).filter((title) => !Object.hasOwn(cases, title))).toEqual([]);
    });
  });
}
