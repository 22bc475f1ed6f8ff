import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { connect, type LabwrightClient } from "../../src/client/index.ts";
import { testedProgram } from "../../src/files/tested-program.fixture.ts";
import { localPaths } from "../../src/hosts/local/machine/paths.ts";
import { removeUnrecordedTables } from "../../src/hosts/local/nat/nat.ts";
import { testDirectory } from "../../src/hosts/local/testing/test-directory.fixture.ts";
import { eventually } from "./eventually.ts";
import { noteLabs, processesOf } from "./machine.ts";

/** Of its user admin. */
export const password = "chaos";

/** The service as a user starts it, on the embedded host, with directories of its own that outlive it: it can be killed and started again. */
export class EmbeddedService implements AsyncDisposable {
  readonly base: string;
  readonly stateDir: string;
  readonly runDir: string;
  /** Uuids of all labs that it ever had, as far as anyone looked. */
  readonly labs = new Set<string>();
  readonly #flags: readonly string[];
  #child: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #client: LabwrightClient | undefined;
  #token: string | undefined;
  #log = "";

  private constructor(base: string, flags: readonly string[]) {
    this.base = base;
    this.stateDir = join(base, "state");
    this.runDir = join(base, "run");
    this.#flags = flags;
  }

  /** Directories only; start() starts it. */
  static async make(flags: readonly string[] = []): Promise<EmbeddedService> {
    return new EmbeddedService(await testDirectory("chaos"), flags);
  }

  get client(): LabwrightClient {
    if (this.#client === undefined) throw new Error("the service does not run");
    return this.#client;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Its log since its last start, without the requests. */
  get log(): string {
    return this.#log
      .split("\n")
      .filter((line) => !line.includes('"msg":"request"'))
      .join("\n");
  }

  /**
   * @param within a command that runs it: unshare, env …
   * @param flags of this start alone
   */
  async start(within: readonly string[] = [], flags: readonly string[] = []): Promise<void> {
    const shared = localPaths(process.env, process.getuid?.() ?? 0);
    const argv = [...within, process.execPath, testedProgram("server/main"), "--port", "0", ...this.#flags, ...flags];
    const child = spawn(argv[0] ?? "", argv.slice(1), {
      env: {
        ...process.env,
        LABWRIGHT_IMAGE_DIR: shared.images,
        LABWRIGHT_HOLDER: shared.holder,
        LABWRIGHT_SHAPER: shared.shaper,
        LABWRIGHT_STATE_DIR: this.stateDir,
        LABWRIGHT_RUN_DIR: this.runDir,
        LABWRIGHT_ADMIN_PASSWORD: password,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    this.#ended = once(child, "exit");
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        text += chunk;
        this.#log = text;
      });
    const said = () => /listens on (\S+) .*sha256:([0-9A-F:]+)/.exec(text);
    await eventually(
      "the service listens",
      async () => child.exitCode !== null || said() !== null,
      () => text,
    );
    const [, url = "", pin = ""] = said() ?? [];
    if (url === "") throw new Error(`the service ended with ${child.exitCode}: ${text}`);
    this.#client = connect({
      url,
      pin,
      credentials: { username: "admin", password },
      ...(this.#token !== undefined && { token: this.#token }),
    });
    if (this.#token === undefined) this.#token = (await this.#client.login({ username: "admin", password })).token;
  }

  /** Sends the signal without waiting for its effect. */
  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Answers its exit code, or the signal that ended it. */
  async end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    const child = this.#child;
    if (child === undefined) return null;
    child.kill(signal);
    await this.#ended;
    this.#client?.close();
    return child.exitCode ?? child.signalCode;
  }

  /** Its users are created again. */
  forgetLogin(): void {
    this.#token = undefined;
  }

  /** Ends all of its labs as well, also those that a test left. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL");
    await noteLabs(this.labs, this.stateDir, this.runDir);
    await this.endLabs();
    // The way out of a nat network is the one thing that a lab's end does not take with it: the service does, and it is dead.
    for (const lab of this.labs) await removeUnrecordedTables(lab);
    // Nodes that are just being ended may still write there.
    await rm(this.base, { recursive: true, force: true, maxRetries: 20 });
  }

  /** Kills the holders of its labs, and waits until they are gone. */
  async endLabs(): Promise<void> {
    await eventually(
      "no holder is left",
      async () => {
        const left = (await processesOf(this.labs)).filter(({ role }) => role === "init");
        for (const { pid } of left) kill(pid);
        return left.length === 0;
      },
      () => "",
    );
  }
}

/** One that has ended by itself meanwhile is as good. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
