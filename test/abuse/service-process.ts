import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { testedProgram } from "../../src/files/tested-program.fixture.ts";
import { testDirectory } from "../../src/hosts/local/testing/test-directory.fixture.ts";

const program = testedProgram("server/main");

/** A small heap: in a large one uncollected garbage would look like growth; here a leak ends the process. */
export const smallHeap = "--max-old-space-size=256 --max-semi-space-size=8";

export interface ServiceProcessOptions {
  /** Most file descriptors that the process may hold. */
  readonly maxFds?: number;
  readonly logLevel?: "debug" | "info";
  /** Of Node itself. */
  readonly nodeOptions?: string;
}

/** The service as a user starts it, on the memory host, in a process of its own: a crash, a leak or a growth is seen from outside. */
export class ServiceProcess implements AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly password: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #dir: string;

  private constructor(child: ChildProcess, ended: Promise<unknown>, dir: string, url: string, password: string) {
    this.#child = child;
    this.#ended = ended;
    this.#dir = dir;
    this.url = url;
    this.port = Number(new URL(url).port);
    this.pid = child.pid as number;
    this.password = password;
  }

  static async start({ maxFds, logLevel = "info", nodeOptions }: ServiceProcessOptions = {}): Promise<ServiceProcess> {
    const dir = await testDirectory("abuse");
    const password = "correct horse battery staple";
    const log = openSync(join(dir, "log"), "w");
    const args = [program, "--host", "memory", "--port", "0", "--log-level", logLevel];
    const limited = maxFds === undefined ? [] : ["prlimit", `--nofile=${maxFds}:${maxFds}`];
    const [file = "", ...rest] = [...limited, process.execPath, ...args];
    const child = spawn(file, rest, {
      env: {
        PATH: process.env.PATH,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        LABWRIGHT_STATE_DIR: join(dir, "state"),
        LABWRIGHT_ADMIN_PASSWORD: password,
        ...(nodeOptions && { NODE_OPTIONS: nodeOptions }),
      },
      stdio: ["ignore", "pipe", log],
    });
    closeSync(log);
    const ended = once(child, "exit");
    let out = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      out += chunk;
    });
    for (let tries = 0; tries < 600; tries++) {
      const url = /listens on (\S+)/.exec(out)?.[1];
      if (url !== undefined) return new ServiceProcess(child, ended, dir, url, password);
      if (child.exitCode !== null) break;
      await wait(50);
    }
    child.kill("SIGKILL");
    const text = await readFile(join(dir, "log"), "utf8");
    await rm(dir, { recursive: true, force: true });
    throw new Error(`the service did not start: ${out}${text}`);
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Open file descriptors. */
  fds(): number {
    return readdirSync(`/proc/${this.pid}/fd`).length;
  }

  /** Bytes. */
  rss(): number {
    return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.pid}/status`, "utf8"))?.[1]);
  }

  /** All that it wrote to standard error. */
  log(): Promise<string> {
    return readFile(join(this.#dir, "log"), "utf8");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
    await rm(this.#dir, { recursive: true, force: true });
  }
}
