import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { testedProgram } from "../src/files/tested-program.fixture.ts";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import { testDirectory } from "../src/hosts/local/testing/test-directory.fixture.ts";
import { cluster, postgresPrograms } from "../src/service/store/testing/cluster.fixture.ts";

export const machineNames = ["alpha", "beta", "gamma"] as const;
export type MachineName = (typeof machineNames)[number];

/** Machines need root, for their namespaces, and PostgreSQL. */
export const noMachines = postgresPrograms === undefined || process.getuid?.() !== 0;

/**
 * A fleet of three machines on the embedded host. Each has a network namespace with an address of its own, processes of its own (the end of its first process
 * is a loss of power), and directories of its own. PostgreSQL is reached over a Unix socket.
 */
export class TestMachines implements AsyncDisposable {
  /** The directory of the test, in which commands run. */
  readonly base: string;
  /** URL of the database. */
  readonly store: string;
  readonly #net: number;
  readonly #running = new Map<MachineName, ChildProcess>();
  /** Machines with an image directory of their own. */
  readonly #images = new Map<MachineName, string>();

  private constructor(base: string, store: string, net: number) {
    this.base = base;
    this.store = store;
    this.#net = net;
  }

  /** @param net third byte of the machines' addresses; each test has its own, because files of tests may run at the same time */
  static async make(net: number): Promise<TestMachines> {
    const base = await testDirectory("fleet");
    const made = new TestMachines(base, (await (await cluster()).database()).url, net);
    const hub = made.#hub;
    for (const space of [hub, ...machineNames.map((name) => made.#space(name))]) ip("netns", "add", space);
    ip("-n", hub, "link", "add", "br0", "type", "bridge");
    ip("-n", hub, "link", "set", "br0", "up");
    for (const name of machineNames) {
      await mkdir(join(base, name));
      const space = made.#space(name);
      ip("-n", space, "link", "add", "eth0", "type", "veth", "peer", "name", name, "netns", hub);
      ip("-n", hub, "link", "set", name, "master", "br0", "up");
      ip("-n", space, "address", "add", `${made.address(name)}/24`, "dev", "eth0");
      for (const device of ["eth0", "lo"]) ip("-n", space, "link", "set", device, "up");
    }
    return made;
  }

  get #hub(): string {
    return `lw${process.pid}h${this.#net}`;
  }

  #space(name: MachineName): string {
    return `lw${process.pid}${name[0]}${this.#net}`;
  }

  address(name: MachineName): string {
    return `198.18.${this.#net}.${machineNames.indexOf(name) + 1}`;
  }

  state(name: MachineName): string {
    return join(this.base, name, "state");
  }

  /** Gives a machine an image directory of its own, with the images of this one. */
  ownImages(name: MachineName): string {
    const directory = join(this.base, name, "images");
    execFileSync("cp", ["-al", localPaths(process.env, 0).images, directory]);
    this.#images.set(name, directory);
    return directory;
  }

  environment(name: MachineName) {
    const { images, holder } = localPaths(process.env, 0);
    return {
      PATH: process.env.PATH,
      HOME: join(this.base, name),
      XDG_CONFIG_HOME: join(this.base, name, "config"),
      LABWRIGHT_STATE_DIR: this.state(name),
      LABWRIGHT_RUN_DIR: join(this.base, name, "run"),
      LABWRIGHT_IMAGE_DIR: this.#images.get(name) ?? images,
      LABWRIGHT_HOLDER: holder,
      LABWRIGHT_ADMIN_PASSWORD: "admin-password",
      LABWRIGHT_PASSWORD: "admin-password",
    };
  }

  /** Turns a machine on: starts its service, and signs in there. */
  async start(name: MachineName, ...more: readonly string[]): Promise<void> {
    const flags = [
      "--store",
      this.store,
      "--advertise",
      `https://${this.address(name)}:8444`,
      "--machine-name",
      name,
      "--hosts-file",
      "none",
      ...more,
    ];
    const space = ["netns", "exec", this.#space(name), "unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
    const child = spawn("ip", [...space, process.execPath, testedProgram("server/main"), "--port", "8443", ...flags], {
      env: this.environment(name),
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#running.set(name, child);
    let out = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (out += bytes));
    await expect
      .poll(() => /certificate sha256:([0-9A-F:]+)/.exec(out)?.[1] ?? out, { timeout: 240_000, interval: 200 })
      .toMatch(/^[0-9A-F:]{95}$/);
    const pin = /certificate sha256:([0-9A-F:]+)/.exec(out)![1]!;
    await this.run(name, "login", "--url", "https://127.0.0.1:8443", "--user", "admin", "--pin", pin);
  }

  /** Starts all machines: the first begins the fleet. */
  async startAll(): Promise<void> {
    const [first, ...others] = machineNames;
    await this.start(first);
    for (const name of others) {
      const token = join(this.base, `token-${name}`);
      await writeFile(token, await this.run(first, "machines", "token"), { mode: 0o600 });
      await this.start(name, "--join-token-file", token);
    }
  }

  /** Loss of power. */
  async powerOff(name: MachineName): Promise<void> {
    const child = this.#running.get(name);
    this.#running.delete(name);
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  /** Runs a command on a machine. Throws with its output if it fails. */
  run(name: MachineName, ...args: readonly string[]): Promise<string> {
    const argv = ["netns", "exec", this.#space(name), process.execPath, testedProgram("cli/main"), ...args];
    return new Promise((resolve, reject) => {
      execFile("ip", argv, { env: this.environment(name), cwd: this.base, timeout: 240_000 }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${name}: labwright ${args.join(" ")}: ${stdout}${stderr}`));
      });
    });
  }

  /** Returns the machine of a lab as another one shows it: `lost NAME` for one that does not answer. */
  async machineOf(at: MachineName, path: string): Promise<string | undefined> {
    const { labs } = JSON.parse(await this.run(at, "labs", "--format", "json")) as {
      labs: { lab: string; machine?: string; unreachable_since?: string }[];
    };
    const found = labs.find((one) => one.lab === path);
    return found?.unreachable_since === undefined ? found?.machine : `lost ${found.machine}`;
  }

  /** The devices of a kind in the network of a machine, one line each. */
  devices(name: MachineName, kind: string): string {
    return execFileSync("ip", ["-n", this.#space(name), "-o", "link", "show", "type", kind], { encoding: "utf8" });
  }

  /** The packet filter of a machine. */
  rules(name: MachineName): string {
    return execFileSync("ip", ["netns", "exec", this.#space(name), "nft", "list", "ruleset"], { encoding: "utf8" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of machineNames) await this.powerOff(name);
    for (const space of [this.#hub, ...machineNames.map((name) => this.#space(name))]) ip("netns", "delete", space);
    await rm(this.base, { recursive: true });
  }
}

function ip(...words: readonly string[]): void {
  execFileSync("ip", words);
}
