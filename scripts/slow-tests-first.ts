import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const root = new URL("..", import.meta.url).pathname;

/**
 * The test files that take longest, the longest first. On a fresh clone vitest knows no durations and starts large files first; a slow file that starts
 * late would then run alone at the end.
 */
export const slowTests: readonly string[] = [
  "src/hosts/local/quality/quality-netem.microvm.test.ts",
  "src/hosts/local/vm/vm.test.ts",
  "test/chaos/full-disk.faults.test.ts",
  "test/chaos/lost-definition.faults.test.ts",
  "test/chaos/chaos.test.ts",
  "test/wire/eve-user.test.ts",
  "src/hosts/eve/conformance.test.ts",
  "test/chaos/hanging.faults.test.ts",
  "test/abuse/weights.faults.test.ts",
  "test/microvm/microvm.test.ts",
  "test/docs-run.test.ts",
  "src/hosts/local/switching/switches.test.ts",
  "test/chaos/database.faults.test.ts",
  "test/browser/consoles.test.ts",
  "test/package.test.ts",
  "src/hosts/local/quality/quality.test.ts",
  "test/browser/labs.test.ts",
  "test/wire/eve-cli.test.ts",
  "test/wire/eve.test.ts",
  "test/chaos/reboot.faults.test.ts",
  "src/hosts/eve/convergence.test.ts",
  "src/hosts/local/recovery.test.ts",
  "src/hosts/eve/unknown-outcome.test.ts",
  "test/embedded-cli.test.ts",
  "test/abuse/fuzz.test.ts",
  "src/hosts/local/isolation/shared-tables.test.ts",
  "native/fuzz/corpus.test.ts",
  "test/browser/changes.test.ts",
  "test/browser/node-panel.test.ts",
  "test/browser/packets.test.ts",
  "native/tests.test.ts",
  "src/hosts/local/vm/conformance.test.ts",
  "test/labs.test.ts",
];

/** Starts the slow files first, the others in vitest's order. */
export class SlowTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const others = await super.sort(files);
    return others.toSorted((a, b) => rank(a.moduleId) - rank(b.moduleId));
  }
}

function rank(file: string): number {
  const place = slowTests.indexOf(relative(root, file));
  return place < 0 ? slowTests.length : place;
}
