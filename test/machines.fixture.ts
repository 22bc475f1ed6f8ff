import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect, type LabwrightClient } from "../src/client/index.ts";
import { testedProgram } from "../src/files/tested-program.fixture.ts";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import { testDirectory } from "../src/hosts/local/testing/test-directory.fixture.ts";
import { cluster, postgresPrograms } from "../src/service/store/testing/cluster.fixture.ts";
import { Replicas } from "../src/service/store/testing/replicas.fixture.ts";
import { eventually } from "./chaos/eventually.ts";

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
  /** The output of the services. */
  readonly #logs = new Map<MachineName, string>();
  /** Fingerprints of the certificates for users. */
  readonly #pins = new Map<MachineName, string>();
  /** Machines with an image directory of their own. */
  readonly #images = new Map<MachineName, string>();

  private constructor(base: string, store: string, net: number) {
    this.base = base;
    this.store = store;
    this.#net = net;
  }

  /** @param net third byte of the machines' addresses; each test has its own, because files of tests may run at the same time */
  static async make(net: number): Promise<TestMachines> {
    return TestMachines.#make(net, (await (await cluster()).database()).url);
  }

  /**
   * Machines that reach their database over the network that connects them: it has two servers, in a namespace of their own. This process reaches the machines
   * over that network, too.
   */
  static async withServers(net: number): Promise<{ readonly machines: TestMachines; readonly servers: Replicas }> {
    const addresses = [101, 102].map((last) => `198.18.${net}.${last}`) as [string, string];
    const machines = await TestMachines.#make(net, Replicas.urlOf(addresses));
    try {
      const hub = machines.#hub;
      for (const address of addresses) ip("-n", hub, "address", "add", `${address}/24`, "dev", "br0");
      ip("-n", hub, "link", "set", "lo", "up");
      const outside = `${hub}o`;
      ip("link", "add", outside, "type", "veth", "peer", "name", "outside", "netns", hub);
      ip("-n", hub, "link", "set", "outside", "master", "br0", "up");
      ip("address", "add", `198.18.${net}.254/24`, "dev", outside);
      ip("link", "set", outside, "up");
      return { machines, servers: await Replicas.make({ addresses, within: ["ip", "netns", "exec", hub] }) };
    } catch (error) {
      await machines[Symbol.asyncDispose]();
      throw error;
    }
  }

  static async #make(net: number, store: string): Promise<TestMachines> {
    const base = await testDirectory("fleet");
    const made = new TestMachines(base, store, net);
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
    // As systemd: a service that ends starts again.
    const supervisor = ["sh", "-c", 'while :; do "$@"; sleep 0.2; done', "sh"];
    const child = spawn("ip", [...space, ...supervisor, process.execPath, testedProgram("server/main"), "--port", "8443", ...flags], {
      env: this.environment(name),
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#running.set(name, child);
    let out = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (bytes) => {
        out += bytes;
        this.#logs.set(name, (this.#logs.get(name) ?? "") + bytes);
      });
    const shown = async () => /certificate sha256:([0-9A-F:]{95})/.exec(out)?.[1];
    const pin = await eventually(`the service of ${name} starts`, shown, () => out, 240_000);
    this.#pins.set(name, pin);
    await this.run(name, "login", "--url", "https://127.0.0.1:8443", "--user", "admin", "--pin", pin);
  }

  /** Starts all machines: the first begins the fleet. */
  async startAll(...more: readonly string[]): Promise<void> {
    const [first, ...others] = machineNames;
    await this.start(first, ...more);
    for (const name of others) {
      const token = join(this.base, `token-${name}`);
      await writeFile(token, await this.run(first, "machines", "token"), { mode: 0o600 });
      await this.start(name, "--join-token-file", token, ...more);
    }
  }

  /** Cuts a machine off from the others and from the database, or connects it again. */
  cut(name: MachineName, isCut: boolean): void {
    ip("-n", this.#hub, "link", "set", name, isCut ? "down" : "up");
  }

  /** Stops the service of a machine as a hypervisor that pauses it would, or lets it go on. Its nodes run meanwhile. */
  async pause(name: MachineName, isPaused: boolean): Promise<void> {
    const service = await this.#service(name);
    if (service === undefined) throw new Error(`the service of ${name} does not run`);
    process.kill(service, isPaused ? "SIGSTOP" : "SIGCONT");
  }

  /** Ends the service of a machine by SIGKILL; it starts again. Its nodes run meanwhile. A service that is not there yet is left alone. */
  async crash(name: MachineName): Promise<void> {
    const service = await this.#service(name);
    if (service !== undefined) process.kill(service, "SIGKILL");
  }

  /** The process of a machine's service. */
  async #service(name: MachineName): Promise<number | undefined> {
    // ip becomes unshare, whose child is the supervisor.
    const supervisor = (await childrenOf(this.#running.get(name)!.pid!))[0];
    for (const child of supervisor === undefined ? [] : await childrenOf(supervisor)) {
      const words = await readFile(`/proc/${child}/cmdline`, "utf8").catch(() => "");
      if (words.includes(testedProgram("server/main"))) return child;
    }
    return undefined;
  }

  /** The lines that the services of a machine have written. */
  log(name: MachineName): readonly string[] {
    return (this.#logs.get(name) ?? "").split("\n");
  }

  /** Opens a client of a machine in this process, for machines that listen at their address. */
  client(name: MachineName): LabwrightClient {
    const credentials = { username: "admin", password: "admin-password" };
    return connect({ url: `https://${this.address(name)}:8443`, pin: this.#pins.get(name)!, credentials });
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

  /** The ids of the labs, and of the parts of labs, on the disk of a machine. */
  labIds(name: MachineName): readonly string[] {
    try {
      return readdirSync(join(this.state(name), "labs"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
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

async function childrenOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  return text.split(" ").flatMap((word) => (word === "" ? [] : [Number(word)]));
}

function ip(...words: readonly string[]): void {
  execFileSync("ip", words);
}
