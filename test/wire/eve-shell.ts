import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect } from "vitest";
import { testedProgram } from "../../src/files/tested-program.fixture.ts";

const program = testedProgram("cli/main");

/** Environment variables that a command gets besides its own; undefined: without this one. */
export type Env = Readonly<Record<string, string | undefined>>;

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs labwright serve and other commands as a person on the machine of the service does, with an own home directory. */
export class EveShell {
  readonly #home: string;
  readonly #ends: (() => Promise<unknown>)[];

  /** @param ends gets what ends a service that still runs */
  constructor(home: string, ends: (() => Promise<unknown>)[]) {
    this.#home = home;
    this.#ends = ends;
  }

  #spawn(words: readonly string[], more: Env = {}): ChildProcess {
    const env = {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      HOME: this.#home,
      XDG_CONFIG_HOME: join(this.#home, "config"),
      XDG_CACHE_HOME: join(this.#home, "cache"),
      LABWRIGHT_STATE_DIR: join(this.#home, "state"),
      LABWRIGHT_RUN_DIR: join(this.#home, "run"),
      LABWRIGHT_PASSWORD: "eve",
      ...more,
    };
    return spawn(process.execPath, [program, ...words], { cwd: this.#home, env, stdio: ["ignore", "pipe", "pipe"] });
  }

  path(name: string): string {
    return join(this.#home, name);
  }

  async run(...words: string[]): Promise<Ran> {
    return await this.runWith({}, ...words);
  }

  async runWith(env: Env, ...words: string[]): Promise<Ran> {
    const child = this.#spawn(words, env);
    const said = { stdout: "", stderr: "" };
    child.stdout?.on("data", (chunk: Buffer) => (said.stdout += chunk));
    child.stderr?.on("data", (chunk: Buffer) => (said.stderr += chunk));
    const [code] = await once(child, "close");
    return { code, ...said };
  }

  /** labwright serve, until the returned function is called. */
  async serve(...flags: string[]): Promise<() => Promise<void>> {
    const child = this.#spawn(["serve", "--host", "eve", "--port", "0", ...flags]);
    const ended = once(child, "exit");
    const stop = async () => {
      if (child.exitCode === null) child.kill("SIGTERM");
      await ended;
    };
    this.#ends.push(stop);
    let output = "";
    child.stdout?.on("data", (chunk: Buffer) => (output += chunk));
    child.stderr?.on("data", (chunk: Buffer) => (output += chunk));
    await expect.poll(() => output, { timeout: 60_000 }).toMatch(/listens on/);
    return stop;
  }
}
