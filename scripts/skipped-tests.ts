import { readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, TestCase, TestModule, TestSuite } from "vitest/node";

const root = new URL("..", import.meta.url).pathname;

/**
 * Lists skipped tests with their reason at the end of a run, grouped by reason. Prints the list, or writes it to the file that
 * LABWRIGHT_SKIPPED_TESTS names.
 */
export default class SkippedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = skippedLines(modules.flatMap((module) => [...module.children.allTests()]).filter(isSkipped));
    const file = process.env.LABWRIGHT_SKIPPED_TESTS;
    if (file !== undefined) writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
    else for (const line of lines) console.log(line);
  }
}

function isSkipped(test: TestCase): boolean {
  return test.result().state === "skipped";
}

function skippedLines(tests: readonly TestCase[]): readonly string[] {
  const byReason = new Map<string, TestCase[]>();
  for (const test of tests) {
    const reason = reasonOf(test);
    byReason.set(reason, [...(byReason.get(reason) ?? []), test]);
  }
  return [...byReason].sort().flatMap(([reason, of]) => {
    const places = new Map<string, number>();
    for (const { module } of of) places.set(module.moduleId, (places.get(module.moduleId) ?? 0) + 1);
    const files = [...places].sort().map(([file, count]) => `  ${relative(root, file)}: ${count}`);
    return [`skipped, ${of.length === 1 ? "1 test" : `${of.length} tests`}: ${reason}`, ...files];
  });
}

/** Returns the note of context.skip(note), the reason in a title, or the condition of skipIf or runIf around the test. */
function reasonOf(test: TestCase): string {
  const result = test.result();
  if (result.state === "skipped" && result.note !== undefined) return result.note;
  const inTitle = /\(skipped: (.*)\)$/.exec(test.name)?.[1];
  if (inTitle !== undefined) return inTitle;
  let task: TestCase | TestSuite | TestModule = test;
  for (; task.type !== "module"; task = task.parent) {
    if (task.type === "suite" && task.errors().length > 0) return hookFailed;
    const condition = task.location === undefined ? undefined : conditionAt(task.module.moduleId, task.location.line);
    if (condition !== undefined) return condition;
  }
  return task.errors().length > 0 ? hookFailed : "left out by -t or .only";
}

const hookFailed = "a hook before it failed";

/** Returns the condition in the line that declares a test or a suite. */
export function conditionAt(file: string, line: number, uid: number | undefined = process.getuid?.()): string | undefined {
  const source = readFileSync(file, "utf8").split("\n")[line - 1] ?? "";
  const [, kind, condition = ""] = /\.(skipIf|runIf)\((.*)\)\(/.exec(source) ?? [];
  if (kind === undefined) return /\.(skip|todo)\(/.test(source) ? "always" : undefined;
  if (uid !== 0 && /\broot\b|getuid|uid ===? 0/.test(condition)) return "needs root";
  return kind === "skipIf" ? `if ${condition}` : `unless ${condition}`;
}
