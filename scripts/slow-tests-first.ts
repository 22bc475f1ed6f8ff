import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const root = new URL("..", import.meta.url).pathname;

/**
 * The test files that take longest, the longest first. Two files with emulated processors are not neighbours, because on a busy machine each would exceed its time.
 * On a fresh clone, vitest knows no durations and starts large files first. A slow file that starts late would then run alone at the end.
 */
export const slowTests: readonly string[] = [
  "test/wire/eve-user.extended.test.ts",
  "test/docs-run.test.ts",
  "src/hosts/local/vm/tests/vm.test.ts",
  "src/hosts/local/vm/tests/vm.extended.test.ts",
  "test/wire/eve-by-hand.extended.test.ts",
  "test/wire/eve-cli.extended.test.ts",
  "src/hosts/eve/conformance/conformance.test.ts",
  "src/hosts/eve/conformance/conformance.extended.test.ts",
  "src/hosts/local/switching/switches.extended.test.ts",
  "test/microvm/microvm.extended.test.ts",
  "src/server/main.test.ts",
  "test/embedded-cli.test.ts",
  "test/browser/consoles.extended.test.ts",
  "test/wire/eve.test.ts",
  "src/hosts/local/quality/quality.test.ts",
  "src/hosts/local/vm/tests/conformance.extended.test.ts",
  "test/labs-changed.extended.test.ts",
  "test/browser/packets.extended.test.ts",
  "src/cli/tests/up.test.ts",
  "native/fuzz/corpus.test.ts",
  "src/hosts/eve/convergence.test.ts",
  "test/labs-own-tests.test.ts",
  "test/package.extended.test.ts",
  "test/chaos/chaos.extended.test.ts",
  "src/hosts/eve/write/write-lab.test.ts",
  "src/hosts/local/isolation/shared-tables.test.ts",
  "src/hosts/eve/unknown-outcome.extended.test.ts",
  "test/wire/captures.test.ts",
  "src/hosts/local/management/management.test.ts",
  "src/service/embedded/embedded-owed-starts.extended.test.ts",
  "src/console/dialogue/exec.test.ts",
  "test/browser/labs.extended.test.ts",
  "src/hosts/local/recovery.test.ts",
  "native/tests.test.ts",
  "test/browser/node-panel.extended.test.ts",
  "test/demo.test.ts",
  "src/hosts/local/nat/nat-rules.test.ts",
  "test/wire/eve-labs.extended.test.ts",
  "test/crash.test.ts",
  "test/browser/plan.extended.test.ts",
  "src/hosts/eve/labs/number-clash.extended.test.ts",
  "test/inside-nodes.test.ts",
  "src/service/embedded/embedded-frr.test.ts",
  "src/hosts/local/conformance.test.ts",
  "test/chaos/full-disk.faults.test.ts",
  "test/chaos/lost-definition.faults.test.ts",
  "test/chaos/hanging.faults.test.ts",
  "test/abuse/weights.faults.test.ts",
  "test/chaos/database.faults.test.ts",
  "test/chaos/reboot.faults.test.ts",
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
