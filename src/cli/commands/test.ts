import type { ResultOf } from "../../client/index.ts";
import { writeFileAtomic } from "../../files/write-file-atomic.ts";
import { type Command, type ExitCode, labFlag, timeoutFlag, topoFlag } from "../command/command.ts";
import type { Context } from "../command/context.ts";
import type { Project } from "../command/project.ts";
import { githubAnnotations, junitReport } from "../parts/test-report.ts";
import { checkOutput } from "../project-files/check-output.ts";
import { fileFailure } from "../project-files/file-failure.ts";
import { table } from "../show/table.ts";
import type { Paint } from "../show/terminal.ts";

type Tested = ResultOf<"testProject">;

export const test: Command = {
  name: "test",
  summary: "Run the tests of the lab's file in the running lab",
  operands: "[NAME...]",
  completes: "test",
  details:
    "Each test of `tests:` runs in its nodes until it passes or its time (within) is over; tests run at the same time. Tests with `given` run alone: cables are\n" +
    "pulled and nodes stopped for the time of the test, and restored afterwards, also after Ctrl-C. Without -t the tests of the last apply run.\n" +
    "In GitHub Actions, failed tests are annotations of the lab's file. Exit code 1: a test failed or could not run.",
  flags: [
    topoFlag,
    labFlag,
    { long: "junit", value: "FILE", completes: "file", summary: "Write a report in JUnit's XML to this file" },
    timeoutFlag,
  ],
  readsText: true,
  example: "labwright test -t campus.lw.yml --junit report.xml",
  run: async (context, args) => {
    const { operands } = args;
    const report = args.text("junit");
    if (report !== undefined) await checkOutput(report);
    return await runTests(context, await context.project(), {
      ...(operands.length > 0 && { tests: operands }),
      report,
      timeoutMs: args.milliseconds("timeout"),
    });
  },
};

/** Runs tests of the lab, shows and reports their results. Returns 1 if one did not pass. @param options.tests names; absent: all */
export async function runTests(
  context: Context,
  { selector, file }: Project,
  options: { readonly tests?: readonly string[]; readonly report?: string | undefined; readonly timeoutMs?: number | undefined } = {},
): Promise<ExitCode> {
  const client = await context.client();
  const { tests, report, timeoutMs } = options;
  const data = await client.testProject({ ...selector, ...(tests !== undefined && { tests: [...tests] }) }, { timeoutMs });
  context.result(data, (shown) => show(context.terminal.paint, shown));
  if (report !== undefined) await writeReport(report, junitReport(data));
  if (process.env["GITHUB_ACTIONS"] === "true") {
    for (const line of githubAnnotations(data, file)) context.terminal.note(line);
  }
  return data.failed + data.errors > 0 ? 1 : 0;
}

async function writeReport(path: string, text: string): Promise<void> {
  try {
    await writeFileAtomic(path, text, 0o666 & ~process.umask());
  } catch (error) {
    throw fileFailure(error, path);
  }
}

function show(paint: Paint, { tests, passed, failed, errors }: Tested): string {
  if (tests.length === 0) return "the intent has no tests";
  const colour = { passed: "green", failed: "red", error: "yellow" } as const;
  const rows = tests.map(({ name, node, outcome, message, duration_ms }) => [
    outcome,
    name,
    node,
    `${(duration_ms / 1000).toFixed(1)} s`,
    message,
  ]);
  const [heading, ...lines] = table(["OUTCOME", "TEST", "NODE", "TIME", "RESULT"], rows).split("\n");
  const painted = lines.map((line, index) => paint(colour[tests[index]?.outcome ?? "error"], line));
  const counts = [`${passed} passed`, `${failed} failed`, ...(errors > 0 ? [`${errors} could not run`] : [])];
  return [heading, ...painted, counts.join(", ")].join("\n");
}
