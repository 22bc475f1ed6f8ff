import { spawn } from "node:child_process";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import { leftBehind, leftovers, type Owner, ownerOf } from "./leftovers.ts";
import { sanitizedOnly, sanitizedPrograms, sanitizedRuns } from "./sanitized-tests.ts";

/**
 * All checks of a change: types, lint, generated files, all tests, nothing left on the machine. Each stage runs even if others failed. The last line is
 * "N passed, N failed": tests, and one for each other stage. With LABWRIGHT_TESTS=extended or faults: only the tests of that tier.
 */

const root = fileURLToPath(new URL("..", import.meta.url));

interface Result {
  readonly passed: number;
  readonly failed: number;
  /** Shown after the stage's name. */
  readonly note?: string;
  /** Shown below a failed stage. */
  readonly output?: string;
}

interface Stage {
  readonly name: string;
  readonly run: (env: NodeJS.ProcessEnv, scratch: string) => Promise<Result>;
}

const bundle: Stage = { name: "programs", run: (env) => program(["node", "scripts/bundle.ts"], env) };

/** Stages that run at once, one group after the other. Tests start and pack what the first group builds. */
const all: readonly (readonly Stage[])[] = [
  // One checker: each more reads the same declarations again, and takes longer on two processors.
  [{ name: "types", run: (env) => program(["tsc", "-b", "--checkers", "1"], env) }, bundle],
  // Tests wait much: the processor has time for the others.
  [
    { name: "lint", run: (env) => program(["biome", "check", "--colors=off", "."], env) },
    { name: "generated files", run: (env) => program(["node", "scripts/generate.ts", "--check"], env) },
    { name: "tests", run: tests },
    { name: "tests of the C programs, with sanitizers", run: testsWithSanitizers },
  ],
];

const tier = process.env.LABWRIGHT_TESTS;
const groups = tier === undefined ? all : [[bundle], [{ name: `tests: ${tier}`, run: tests }]];

/** A stage that takes longer hangs, also on a busy machine. */
const limitMs = 60 * 60_000;

async function main(): Promise<void> {
  // Set-up made the images and the holder. Everything else of a test goes to a directory of this run. Nodes reach their disks through it with ids of their
  // own, so all users may pass it.
  const scratch = await mkdtemp(join(tmpdir(), "labwright-test-"));
  await chmod(scratch, 0o711);
  const paths = localPaths(process.env, process.getuid?.() ?? 0);
  const runDir = join(scratch, "run");
  // Directories and processes of this run have its name, so that other labs and tests on the machine are not counted.
  const run = basename(scratch).replace("labwright-test-", "");
  const owner = ownerOf(run, runDir);
  const env = {
    ...process.env,
    LABWRIGHT_IMAGE_DIR: paths.images,
    LABWRIGHT_HOLDER: paths.holder,
    LABWRIGHT_STATE_DIR: join(scratch, "state"),
    LABWRIGHT_RUN_DIR: runDir,
    LABWRIGHT_TEST_RUN: run,
    LABWRIGHT_TEST_BUNDLE: "1",
    // Tests start the service and the CLI hundreds of times: their compiled code is kept.
    NODE_COMPILE_CACHE: join(scratch, "compiled"),
    // Each of them would parse the file, though no test leaves the machine. Tests of packages load from a registry.
    ...(tier === undefined && { NODE_EXTRA_CA_CERTS: undefined }),
  };
  const before = new Set(await leftovers(owner));
  const results: Result[] = [];
  for (const group of groups) {
    results.push(...(await Promise.all(group.map((stage) => report(stage.name, () => stage.run(env, scratch))))));
  }
  results.push(await report("nothing left behind", () => nothingLeft(before, owner)));
  const skipped = await readFile(skippedTests(scratch), "utf8").catch((error: NodeJS.ErrnoException) => {
    // Vitest did not end, and its stage has reported that.
    if (error.code === "ENOENT") return "";
    throw error;
  });
  process.stdout.write(skipped);
  await rm(scratch, { recursive: true, force: true });
  const sum = (count: (result: Result) => number): number => results.reduce((total, result) => total + count(result), 0);
  const failed = sum((result) => result.failed);
  process.exitCode = failed === 0 ? 0 : 1;
  console.log(`${sum((result) => result.passed)} passed, ${failed} failed`);
}

async function report(name: string, run: () => Promise<Result>): Promise<Result> {
  const start = performance.now();
  const result = await run().catch((error: Error): Result => ({ passed: 0, failed: 1, output: error.stack ?? String(error) }));
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${result.failed === 0 ? "ok    " : "FAILED"} ${name}${result.note === undefined ? "" : `: ${result.note}`} (${seconds} s)`);
  if (result.failed > 0 && result.output !== undefined) console.log(result.output.trimEnd().replaceAll(/^/gm, "       "));
  return result;
}

/** Runs a program as one check: its exit code decides, and its output is shown if it fails. */
async function program(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<Result> {
  const { code, output } = await spawned(argv, env, "capture");
  return code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1, output };
}

interface TestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    /** The error of the file itself: it did not load, or a hook failed. */
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

async function tests(env: NodeJS.ProcessEnv, scratch: string): Promise<Result> {
  const file = join(scratch, "tests.json");
  const apart = tier === undefined ? sanitizedOnly.map((name) => `--exclude=${name}`) : [];
  const { code, output } = await spawned(
    [
      "vitest",
      "run",
      ...apart,
      "--reporter=default",
      "--reporter=json",
      "--reporter=./scripts/skipped-tests.ts",
      `--outputFile.json=${file}`,
    ],
    { ...env, LABWRIGHT_SKIPPED_TESTS: skippedTests(scratch) },
    "show",
  );
  const report = await readFile(file, "utf8").then(
    (text) => JSON.parse(text) as TestReport,
    () => undefined,
  );
  if (report === undefined) return { passed: 0, failed: 1, output: `${output}\nvitest wrote no report (exit code ${code})` };
  const passed = report.numPassedTests;
  const skipped = report.numPendingTests + report.numTodoTests;
  const note = `${passed} passed, ${report.numFailedTests} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`;
  if (code === 0 && report.numFailedTests === 0 && passed > 0) return { passed, failed: 0, note };
  // A file that does not load, or an error outside of a test, fails the run without failing a test.
  return { passed, failed: Math.max(report.numFailedTests, 1), note, output: failures(report) };
}

/** Returns each failed test with the beginning of its error, for readers of the end of a long output. */
function failures(report: TestReport): string {
  const lines: string[] = [];
  for (const { name, message, assertionResults } of report.testResults) {
    const file = relative(root, name);
    if (message !== "") lines.push(`${file}: ${beginning(message)}`);
    for (const { status, fullName, failureMessages } of assertionResults)
      if (status === "failed") lines.push(`${file}: ${fullName}: ${failureMessages.map(beginning).join("; ")}`);
  }
  return lines.join("\n");
}

function beginning(message: string): string {
  return message.split("\n").slice(0, 12).join("\n  ").slice(0, 1_500);
}

/** Runs the hardest tests of the C programs with builds in which an invalid access or undefined behaviour ends the program. */
async function testsWithSanitizers(env: NodeJS.ProcessEnv, scratch: string): Promise<Result> {
  // Nodes reach the program of their init through the directory.
  const programs = await sanitizedPrograms(join(scratch, "sanitized"));
  const runs = sanitizedRuns.map((args) => program(["vitest", "run", "--reporter=dot", ...args], { ...env, ...programs }));
  const results = await Promise.all(runs);
  return {
    passed: results.reduce((sum, { passed }) => sum + passed, 0),
    failed: results.reduce((sum, { failed }) => sum + failed, 0),
    output: results.flatMap(({ output }) => output ?? []).join("\n"),
  };
}

/** The file that names the skipped tests of the run and their reasons. */
function skippedTests(scratch: string): string {
  return join(scratch, "skipped.txt");
}

/** Fails with the processes, mounts and files that the run left. Ending processes get a minute. */
async function nothingLeft(before: ReadonlySet<string>, owner: Owner): Promise<Result> {
  const left = await leftBehind(() => leftovers(owner), before, 60_000);
  return left.length === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1, output: left.join("\n") };
}

function spawned(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  output: "show" | "capture",
): Promise<{ readonly code: number | null; readonly output: string }> {
  const [name, ...args] = argv;
  if (name === undefined) throw new Error("no program to run");
  return new Promise((resolve, reject) => {
    const stdio = output === "show" ? "inherit" : "pipe";
    const child = spawn(name, args, { cwd: root, env, stdio: ["ignore", stdio, stdio], timeout: limitMs, killSignal: "SIGKILL" });
    let text = "";
    const collect = (chunk: Buffer): void => {
      text += chunk.toString();
    };
    child.stdout?.on("data", collect);
    child.stderr?.on("data", collect);
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, output: signal === null ? text : `${text}\nended by ${signal}` }));
  });
}

await main();
