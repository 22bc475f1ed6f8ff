import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { testedProgram } from "../../files/tested-program.fixture.ts";
import { run as runCommand } from "../run.ts";

/** Runs commands against one service per test file, each test in a folder of its own. */

const program = testedProgram("cli/main");
export const password = "correct horse";

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** The service of the test file, and the folder of the current test. */
export const cli = { state: "", folder: "", url: "", fingerprint: "" };

const started = new Set<ChildProcess>();

function environment(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  return {
    PATH,
    HOME,
    ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
    XDG_CONFIG_HOME: join(cli.state, "config"),
    XDG_CACHE_HOME: join(cli.state, "cache"),
    LABWRIGHT_STATE_DIR: cli.state,
    LABWRIGHT_RUN_DIR: join(cli.state, "run"),
    ...extra,
  };
}

/** Starts `labwright` as a process that the test controls. */
export function begin(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  command: readonly string[] = [process.execPath, program],
): ChildProcess {
  const [file = "", ...before] = command;
  const child = spawn(file, [...before, ...args], { cwd: cli.folder, env: environment(env), stdio: ["pipe", "pipe", "pipe"] });
  started.add(child);
  child.once("exit", () => started.delete(child));
  return child;
}

/** Collects the output of a process. */
export function watch(child: ChildProcess): { stdout: string; stderr: string } {
  const seen = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk: Buffer) => (seen.stdout += chunk));
  child.stderr?.on("data", (chunk: Buffer) => (seen.stderr += chunk));
  return seen;
}

/** Runs `labwright` as a process: for exit codes, pipes, and commands that start a service or replace the process by another program. */
export async function runProcess(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const child = begin(args, options.env);
  const seen = watch(child);
  child.stdin?.end(options.input ?? "");
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, ...seen };
}

let isRunning = false;

/** Runs a command in this process, which takes a tenth of the time of a process. Environment and working directory are those of the command meanwhile. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  if (isRunning) throw new Error("run() changes the process's environment: wait for the previous call");
  isRunning = true;
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const [env, directory] = [process.env, process.cwd()];
  const output = Promise.all([text(stdout), text(stderr)]);
  try {
    process.env = environment(options.env);
    process.chdir(cli.folder);
    const code = await runCommand(args, { stdin: Readable.from(options.input === undefined ? [] : [options.input]), stdout, stderr });
    stdout.end();
    stderr.end();
    const [results, messages] = await output;
    return { code, stdout: results, stderr: messages };
  } finally {
    process.env = env;
    process.chdir(directory);
    isRunning = false;
  }
}

/** Starts `labwright` on a terminal of its own (`script`, of util-linux). Results, questions and messages arrive in one stream. */
export function onTerminal(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): { readonly child: ChildProcess; readonly seen: { stdout: string } } {
  const line = [process.execPath, program, ...args].map((word) => `'${word}'`).join(" ");
  const child = begin([], { TERM: "xterm", ...env }, ["script", "-qfec", line, "/dev/null"]);
  return { child, seen: watch(child) };
}

/** Waits for a condition. @param describe the current state, for the error */
export async function until(describe: () => string, done: () => boolean): Promise<void> {
  const end = Date.now() + 60_000;
  while (!done()) {
    if (Date.now() > end) throw new Error(`not within 60 s: ${describe()}`);
    await pause(20);
  }
}

/** The exit code of a process, when it has ended. */
export async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once("close", resolve));
  return child.exitCode;
}

export const yaml = (name: string) => `# my first lab
name: ${name}
nodes:
  r1:                 # the core
    template: frr
    startup-config: r1.conf
  h1: {template: linux}
links:
  - ["r1:eth1", "h1:eth1"]   # access
`;

/** Writes lab.yaml and the configuration that it names. */
export function write(name: string, text = yaml(name)): void {
  writeFileSync(join(cli.folder, "lab.yaml"), text);
  writeFileSync(join(cli.folder, "r1.conf"), "hostname r1\n");
}

export const read = () => readFileSync(join(cli.folder, "lab.yaml"), "utf8");

/** Starts a service on the memory host for the test file, signed in as admin. */
export function useService(): void {
  let service: ChildProcess;
  let output: { stdout: string; stderr: string };
  beforeAll(async () => {
    cli.state = mkdtempSync(join(tmpdir(), "labwright-cli-"));
    cli.folder = mkdtempSync(join(cli.state, "work-"));
    service = begin(["serve", "--port", "0", "--host", "memory"], { LABWRIGHT_ADMIN_PASSWORD: password });
    output = watch(service);
    const file = join(cli.state, "service.json");
    await until(
      () => `service.json; the service wrote: ${output.stderr}`,
      () => existsSync(file) || service.exitCode !== null,
    );
    if (service.exitCode !== null) throw new Error(`the service did not start:\n${output.stdout}${output.stderr}`);
    const { url, fingerprint } = JSON.parse(readFileSync(file, "utf8")) as { readonly url: string; readonly fingerprint: string };
    Object.assign(cli, { url, fingerprint });
    const login = await run(["login", "--url", url, "--pin", fingerprint, "--user", "admin", "--password-stdin"], {
      input: `${password}\n`,
    });
    expect(login).toMatchObject({ code: 0, stdout: "" });
  });
  afterAll(async () => {
    service.kill("SIGTERM");
    expect(await ended(service), output.stderr.slice(-2000)).toBe(0);
    for (const child of started) child.kill("SIGKILL");
    rmSync(cli.state, { recursive: true });
  });
  beforeEach(() => {
    cli.folder = mkdtempSync(join(cli.state, "work-"));
  });
}
