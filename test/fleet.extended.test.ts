import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testedProgram } from "../src/files/tested-program.fixture.ts";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import { testDirectory } from "../src/hosts/local/testing/test-directory.fixture.ts";
import { cluster, postgresPrograms } from "../src/service/store/testing/cluster.fixture.ts";

/*
 * A fleet of three machines on the embedded host. Each has a network namespace with an address of its own, processes of its own (the end of its first process
 * is a loss of power), and directories of its own. PostgreSQL is reached over a Unix socket.
 */

const names = ["alpha", "beta", "gamma"] as const;
type Name = (typeof names)[number];
const hub = `lw${process.pid}hub`;
const spaceOf = (name: Name) => `lw${process.pid}${name[0]}`;
const addressOf = (name: Name) => `198.18.77.${names.indexOf(name) + 1}`;

let base: string;
let store: string;
const running = new Map<Name, ChildProcess>();

const lab = (name: string) => `name: ${name}
nodes:
  h1: {template: linux, exec: [ip address add 10.0.0.1/24 dev eth0]}
  h2: {template: linux, exec: [ip address add 10.0.0.2/24 dev eth0]}
links: [[h1:eth0, h2:eth0]]
`;

function ip(...words: readonly string[]): void {
  execFileSync("ip", words);
}

function environment(name: Name) {
  const { images, holder } = localPaths(process.env, 0);
  return {
    PATH: process.env.PATH,
    HOME: join(base, name),
    XDG_CONFIG_HOME: join(base, name, "config"),
    LABWRIGHT_STATE_DIR: join(base, name, "state"),
    LABWRIGHT_RUN_DIR: join(base, name, "run"),
    LABWRIGHT_IMAGE_DIR: images,
    LABWRIGHT_HOLDER: holder,
    LABWRIGHT_ADMIN_PASSWORD: "admin-password",
    LABWRIGHT_PASSWORD: "admin-password",
  };
}

/** Turns a machine on: starts its service, and signs in there. */
async function start(name: Name, ...more: readonly string[]): Promise<void> {
  const flags = [
    "--store",
    store,
    "--advertise",
    `https://${addressOf(name)}:8444`,
    "--machine-name",
    name,
    "--hosts-file",
    "none",
    ...more,
  ];
  const space = ["netns", "exec", spaceOf(name), "unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const child = spawn("ip", [...space, process.execPath, testedProgram("server/main"), "--port", "8443", ...flags], {
    env: environment(name),
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.set(name, child);
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (out += bytes));
  await expect.poll(() => /certificate sha256:([0-9A-F:]+)/.exec(out)?.[1] ?? out, { timeout: 60_000 }).toMatch(/^[0-9A-F:]{95}$/);
  const pin = /certificate sha256:([0-9A-F:]+)/.exec(out)![1]!;
  await run(name, "login", "--url", "https://127.0.0.1:8443", "--user", "admin", "--pin", pin);
}

/** Loss of power. */
async function powerOff(name: Name): Promise<void> {
  const child = running.get(name);
  running.delete(name);
  if (child === undefined || child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
}

/** Runs a command on a machine. Throws with its output if it fails. */
function run(name: Name, ...args: readonly string[]): Promise<string> {
  const argv = ["netns", "exec", spaceOf(name), process.execPath, testedProgram("cli/main"), ...args];
  return new Promise((resolve, reject) => {
    execFile("ip", argv, { env: environment(name), cwd: base, timeout: 60_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${name}: labwright ${args.join(" ")}: ${stdout}${stderr}`));
    });
  });
}

async function machineOf(at: Name, path: string): Promise<string | undefined> {
  const { labs } = JSON.parse(await run(at, "labs", "--format", "json")) as {
    labs: { lab: string; machine?: string; unreachable_since?: string }[];
  };
  const found = labs.find((one) => one.lab === path);
  return found?.unreachable_since === undefined ? found?.machine : `lost ${found.machine}`;
}

beforeAll(async () => {
  if (postgresPrograms === undefined || process.getuid?.() !== 0) return;
  base = await testDirectory("fleet");
  store = (await (await cluster()).database()).url;
  for (const space of [hub, ...names.map(spaceOf)]) ip("netns", "add", space);
  ip("-n", hub, "link", "add", "br0", "type", "bridge");
  ip("-n", hub, "link", "set", "br0", "up");
  for (const name of names) {
    await mkdir(join(base, name));
    const space = spaceOf(name);
    ip("-n", space, "link", "add", "eth0", "type", "veth", "peer", "name", name, "netns", hub);
    ip("-n", hub, "link", "set", name, "master", "br0", "up");
    ip("-n", space, "address", "add", `${addressOf(name)}/24`, "dev", "eth0");
    for (const device of ["eth0", "lo"]) ip("-n", space, "link", "set", device, "up");
  }
  for (const count of [1, 2, 3, 4]) await writeFile(join(base, `lab${count}.yaml`), lab(`lab${count}`));
}, 60_000);

afterAll(async () => {
  for (const name of names) await powerOff(name);
  if (base === undefined) return;
  for (const space of [hub, ...names.map(spaceOf)]) ip("netns", "delete", space);
  await rm(base, { recursive: true });
}, 60_000);

test.skipIf(postgresPrograms === undefined || process.getuid?.() !== 0)(
  "three machines are one Labwright; labs of one that loses its power start elsewhere, once, and it ends what it has lost",
  async () => {
    await start("alpha");
    for (const name of ["beta", "gamma"] as const) {
      await writeFile(join(base, `token-${name}`), await run("alpha", "machines", "token"), { mode: 0o600 });
      await start(name, "--join-token-file", join(base, `token-${name}`));
    }
    for (const count of [1, 2]) {
      for (const name of ["alpha", "beta"]) await run("alpha", "machines", "cordon", name);
      await run("alpha", "apply", "-t", `lab${count}.yaml`, "--yes");
    }
    for (const name of ["alpha", "beta"]) await run("gamma", "machines", "uncordon", name);
    await run("alpha", "machines", "cordon", "gamma");
    for (const count of [3, 4]) await run("alpha", "apply", "-t", `lab${count}.yaml`, "--yes");
    for (const at of names) {
      expect(await machineOf(at, "/lab1")).toBe("gamma");
      for (const count of [1, 2, 3, 4])
        expect(await run(at, "exec", "h1", "--lab", `lab${count}`, "--", "ping", "-c", "1", "10.0.0.2")).toContain(" 0% packet loss");
    }
    await writeFile(join(base, "large"), Buffer.alloc(3_000_000, "labwright"));
    await run("beta", "cp", "large", "h1:/root/", "--lab", "lab1");
    await run("alpha", "cp", "h1:/root/large", "back", "--lab", "lab1");
    expect((await readFile(join(base, "back"))).equals(await readFile(join(base, "large")))).toBe(true);

    await run("beta", "resume", "--lab", "lab1", "--after-reboot", "always");
    await powerOff("gamma");
    await expect.poll(() => machineOf("alpha", "/lab2"), { timeout: 15_000, interval: 500 }).toBe("lost gamma");
    expect(await run("alpha", "exec", "h1", "--lab", "lab3", "--", "ping", "-c", "1", "10.0.0.2")).toContain(" 0% packet loss");
    await expect(run("beta", "destroy", "--lab", "lab2", "--yes")).rejects.toThrow("machine_unreachable");
    await expect.poll(() => machineOf("alpha", "/lab1"), { timeout: 60_000, interval: 500 }).toMatch(/^(alpha|beta)$/);
    const taker = await machineOf("alpha", "/lab1");
    const ping = ["exec", "h1", "--lab", "lab1", "--", "ping", "-c", "1", "-w", "5", "10.0.0.2"] as const;
    await expect
      .poll(() => run("beta", ...ping).catch((error: Error) => error.message), { timeout: 30_000, interval: 500 })
      .toContain(" 0% packet loss");

    await start("gamma");
    await expect.poll(() => machineOf("gamma", "/lab2"), { timeout: 30_000, interval: 500 }).toBe("gamma");
    expect(await machineOf("gamma", "/lab1")).toBe(taker);
    // Its own copy has ended, and its disks are kept.
    await expect.poll(() => run("gamma", "disks"), { timeout: 30_000, interval: 500 }).toContain("/lab1");
    for (const count of [1, 2, 3, 4]) await run("gamma", "destroy", "--lab", `lab${count}`, "--yes");
    expect(await run("alpha", "labs")).toContain("no labs yet");
  },
  300_000,
);
