import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type LabwrightClient } from "../src/client/index.ts";
import { testedProgram } from "../src/files/tested-program.fixture.ts";
import { freePort } from "../src/hosts/local/testing/free-port.fixture.ts";
import { testDirectory } from "../src/hosts/local/testing/test-directory.fixture.ts";
import { eventually, type TestLocalHost, testLocalHost } from "../src/hosts/local/testing/test-local-host.fixture.ts";
import { type Served, serve } from "./wire/served.ts";

/** Other programs reach nodes by the inventories of a running lab: real SSH servers, OpenSSH's client and Ansible. */

const run = promisify(execFile);
let local: TestLocalHost;
let served: Served;
let client: LabwrightClient;
let folder: string;

beforeAll(async () => {
  local = await testLocalHost();
  served = await serve({ host: local.host });
  folder = await testDirectory("inventory");
  await mkdir(folder, { recursive: true });
  client = connect({ url: served.url, pin: served.fingerprint, credentials: { username: "admin", password: "test" } });
  for (const name of ["key", "other"]) await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, name)]);
  const [h1, r1] = [await freePort(), await freePort()];
  const yaml = `name: reached
kinds:
  reached:
    template: linux
    ssh-keys: ["${(await readFile(join(folder, "key.pub"), "utf8")).trim()}"]
nodes:
  h1: {kind: reached, image: python, ports: ["${h1}:22"], labels: {site: north}}
  r1: {kind: reached, template: frr, ports: ["${r1}:22"]}
  h2: {template: linux}
  h3: {template: linux}
  s1: {template: switch}
`;
  await client.deployProject({ yaml });
  await eventually(
    "the nodes run",
    60_000,
    async () => (await client.getProjectStatus({ lab: "/reached" })).live?.nodes ?? [],
    (nodes) => nodes.length === 5 && nodes.every(({ status }) => status === "running"),
  );
});
afterAll(async () => {
  client.close();
  await served[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program with the environment of a user who has signed in. */
async function began(program: string, args: readonly string[], token = client.token): Promise<Ended> {
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    LANG: "C.UTF-8",
    ANSIBLE_NOCOLOR: "1",
    ANSIBLE_PYTHON_INTERPRETER: "auto_silent",
    LABWRIGHT_URL: served.url,
    LABWRIGHT_PIN: served.fingerprint,
    LABWRIGHT_TOKEN: token,
  };
  const child = spawn(program, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"], timeout: 120_000 });
  const seen = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (seen.stdout += chunk));
  child.stderr.on("data", (chunk: Buffer) => (seen.stderr += chunk));
  const [code] = (await once(child, "close")) as [number];
  return { code, ...seen };
}

function cli(command: string, ...args: readonly string[]): Promise<Ended> {
  return began(process.execPath, [testedProgram("cli/main"), command, "--lab", "/reached", ...args]);
}

/** Writes an inventory with the key into a file. Returns its path. */
async function inventory(format: string, key = "key"): Promise<string> {
  const file = join(folder, `${format}-${key}.yml`);
  const { code, stdout, stderr } = await cli("inventory", "--format", format, "--identity", key);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "left out, SSH does not reach them: s1\n" });
  await writeFile(file, stdout);
  return file;
}

test("ssh logs in with a key, by the name in ssh-config, and passwords are refused", async () => {
  const file = await inventory("ssh-config");
  const ssh = (...words: readonly string[]) => began("ssh", ["-F", file, "-o", "BatchMode=yes", ...words]);
  // The SSH server starts after the node runs.
  const name = async () => (await ssh("r1.reached", "hostname")).stdout;
  expect(await eventually("a login", 60_000, name, (answer) => answer === "r1\n")).toBe("r1\n");
  for (const node of ["r1", "h2"]) {
    const refused = await ssh("-o", "PubkeyAuthentication=no", `${node}.reached`, "true");
    expect(refused).toMatchObject({ code: 255, stdout: "" });
    expect(refused.stderr).toContain("Permission denied (publickey)");
  }
});

test("labwright ssh reaches a node without ports and addresses, and returns the command's exit code", async () => {
  const ended = await cli("ssh", "-i", "key", "h2", "--", "hostname; echo problem >&2; exit 7");
  expect(ended).toEqual({ code: 7, stdout: "h2\n", stderr: "signing in to h2 with your public key\nproblem\n" });
  expect((await cli("ssh", "-i", "key", "r9")).stderr).toContain('/reached has no node "r9"');
  expect((await cli("ssh", "-i", "missing", "h2")).stderr).toContain("missing.pub is not a public key");
  expect((await cli("ssh", "-i", "key", "s1")).stderr).toContain("s1 runs no program");
});

test("sshd of a connection accepts no other key, and the service no other user", async () => {
  const file = await inventory("ssh-config");
  const other = join(folder, "other.yml");
  await writeFile(other, (await readFile(file, "utf8")).replaceAll(/IdentityFile .*/g, `IdentityFile ${join(folder, "other")}`));
  const ssh = (config: string, token?: string) => began("ssh", ["-F", config, "-o", "BatchMode=yes", "h2.reached", "id"], token);
  expect(await ssh(other)).toMatchObject({ code: 255, stdout: "" });
  const stranger = await ssh(file, "wrong");
  expect(stranger).toMatchObject({ code: 255, stdout: "" });
  expect(stranger.stderr).toContain("unauthenticated");
});

test("connections that begin at the same time find one host key, which stays over a restart; sshd ends with them", async () => {
  const file = await inventory("ssh-config");
  const hostKey = "cat /etc/ssh/ssh_host_ed25519_key.pub; ls /etc/ssh | grep -c ssh_host";
  const read = () => began("ssh", ["-F", file, "h3.reached", hostKey]);
  const all = await Promise.all([read(), read(), read()]);
  const [first] = all;
  expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ssh-ed25519 \S+ h3\n2\n$/) });
  expect(new Set(all.map(({ stdout }) => stdout)).size).toBe(1);
  expect((await cli("restart", "--node", "h3")).code).toBe(0);
  expect((await read()).stdout).toBe(first?.stdout);
  expect(await began("scp", ["-q", "-F", file, file, "h3.reached:/root/copy"])).toMatchObject({ code: 0 });
  expect((await cli("exec", "h3", "--", "grep", "-c", "^Host h3", "/root/copy")).stdout).toBe("1\n");
  const left = async () => (await cli("exec", "h3", "--", "sh", "-c", "pgrep sshd; ss -Hltn sport = :22")).stdout;
  expect(await eventually("sshd has ended", 20_000, left, (output) => output === "")).toBe("");
});

test("Ansible runs modules and commands in the nodes of its inventory", async () => {
  const file = await inventory("ansible");
  const ansible = async (...words: readonly string[]) => {
    const { stdout, stderr } = await began("ansible", ["-i", file, ...words]);
    return stdout + stderr;
  };
  expect(await ansible("h1", "-m", "ping")).toMatch(/^h1 \| SUCCESS => \{[\s\S]*"ping": "pong"/);
  expect(await ansible("r1,h2", "-m", "raw", "-a", "hostname")).toMatch(/(?=[\s\S]*^r1\r?$)(?=[\s\S]*^h2\r?$)/m);
  expect(await ansible("all", "--list-hosts")).toContain("hosts (4)");
});
