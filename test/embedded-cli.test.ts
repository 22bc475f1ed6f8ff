import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testedProgram } from "../src/files/tested-program.fixture.ts";
import { localPaths } from "../src/hosts/local/machine/paths.ts";
import { testDirectory } from "../src/hosts/local/testing/test-directory.fixture.ts";

/** The program as a person types it, against a service that `labwright up` starts on the embedded host. */

const program = testedProgram("cli/main");
const patience = 120_000;
let base: string;
let folder: string;

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(...args: readonly string[]): Promise<Ran> {
  return runWith({}, ...args);
}

function runWith(more: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Ran> {
  const { images, holder } = localPaths(process.env, process.getuid?.() ?? 0);
  const env = {
    PATH: process.env.PATH,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    HOME: base,
    XDG_CONFIG_HOME: join(base, "config"),
    LABWRIGHT_STATE_DIR: join(base, "state"),
    LABWRIGHT_RUN_DIR: join(base, "run"),
    LABWRIGHT_IMAGE_DIR: images,
    LABWRIGHT_HOLDER: holder,
    ...more,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], { cwd: folder, env, timeout: patience }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 255), stdout, stderr });
    });
  });
}

const write = (text: string, name = "lab.yaml") => writeFile(join(folder, name), text);
const lab = (address: string) => `name: pair
nodes:
  h1: {template: linux, exec: ["ip addr add ${address} dev eth0"]}
  h2: {template: linux, exec: ["ip addr add 10.0.0.2/24 dev eth0"]}
links:
  - ["h1:eth0", "h2:eth0"]
`;
const serviceUrl = async () => (JSON.parse(await readFile(join(base, "state/service.json"), "utf8")) as { url: string }).url;

beforeAll(async () => {
  base = await testDirectory("cli");
  folder = join(base, "work");
  await mkdir(folder);
});
afterAll(async () => {
  await write(lab("10.0.0.1/24"));
  const ended = [await run("destroy", "--yes"), await run("down")];
  expect(
    ended.map(({ code }) => code),
    JSON.stringify(ended),
  ).toEqual([0, 0]);
  await rm(base, { recursive: true });
}, patience);

describe("a node that fails", { timeout: 2 * patience }, () => {
  const failure = [
    "failed: h1 (exit code 1)",
    "  h1, last lines of its log (all: labwright logs -t lab.yaml h1):",
    '"ip addr add 10.0.0.300/24 dev eth0" failed with exit code 1',
  ];
  const expectFailure = ({ code, stderr }: Ran) => {
    expect(code, stderr).toBe(1);
    for (const words of failure) expect(stderr).toContain(words);
  };

  test("up and status name it with the reason and end with 1; fixing the file and up again starts it", async () => {
    await write(lab("10.0.0.300/24"));
    expectFailure(await run("up", "--port", "0"));
    const status = await run("status", "-t", "lab.yaml");
    expectFailure(status);
    expect(status.stdout).toMatch(/h1 +failed/);
    expect(await run("status", "--node", "h2")).toMatchObject({ code: 0, stderr: "" });
    const exec = await run("cli", "h1", "--", "true");
    expect([exec.code, exec.stderr]).toEqual([
      1,
      expect.stringMatching(/h1 has failed.*\(node_not_running\)\n {2}hint: labwright logs h1 /),
    ]);
    // Nothing was fixed: it is tried again, and fails again.
    const again = await run("up", "-t", "lab.yaml");
    expectFailure(again);
    expect(again.stdout).toContain("node h1 (line 3): failed, is started again");
    await write(lab("10.0.0.1/24"));
    const plan = await run("plan");
    expect(plan.stdout).toMatch(/~ node h1[\s\S]*power +failed → running/);
    const fixed = await run("up", "lab.yaml");
    expect([fixed.code, fixed.stderr]).toEqual([0, expect.stringContaining("The lab is up.")]);
    expect(await run("plan")).toMatchObject({ code: 0, stdout: "no changes\n" });
  });

  test("restart stops and starts nodes, all but the stopped ones without --node, and reports one that fails", async () => {
    expect(await run("restart", "--node", "h1")).toMatchObject({ code: 0, stdout: "1 node: 1 stopped\n1 node: 1 started\n" });
    expect((await run("stop", "--node", "h2")).code).toBe(0);
    const rest = await run("restart", "--format", "json");
    expect([rest.code, JSON.parse(rest.stdout)]).toEqual([0, expect.objectContaining({ requested: 1, started: 1 })]);
    expect((await run("status")).stdout).toMatch(/h2 +stopped/);
    await write(lab("10.0.0.300/24"));
    expect((await run("apply", "--yes", "--no-wait")).code).toBe(0);
    expectFailure(await run("restart", "-t", "lab.yaml", "--node", "h1"));
    expectFailure(await run("start", "-t", "lab.yaml"));
    await write(lab("10.0.0.1/24"));
    expect((await run("apply", "--yes")).code).toBe(0);
  });

  test("deploy and apply wait, name it and end with 1; with --no-wait they end with 0", async () => {
    await write(lab("10.0.0.300/24"));
    expectFailure(await run("apply", "--yes", "-t", "lab.yaml"));
    expectFailure(await run("deploy", "--replace", "--yes", "-t", "lab.yaml"));
    expect(await run("deploy", "--replace", "--yes", "--no-wait")).toMatchObject({ code: 0, stdout: "deployed /pair: 2 nodes, 1 link\n" });
    await write(lab("10.0.0.1/24"));
    expect(await run("apply", "--yes", "--no-wait")).toMatchObject({ code: 0 });
    expect(await run("apply", "--yes")).toMatchObject({ code: 0 });
    const deployed = await run("deploy", "--replace", "--yes");
    expect([deployed.code, deployed.stdout]).toEqual([
      0,
      expect.stringMatching(/^deployed \/pair: 2 nodes, 1 link\nready: h1 h2 \(\d+\.\d s\)\n$/),
    ]);
  });
});

test("down stops the service that up started, labs run on, and other commands find it at its next port", {
  timeout: patience,
}, async () => {
  const before = await serviceUrl();
  const down = await run("down");
  expect([down.code, down.stderr]).toEqual([0, expect.stringContaining("labs of the embedded host keep running")]);
  expect(existsSync(join(base, "state/service.json"))).toBe(false);
  expect(await run("down")).toMatchObject({ code: 0, stderr: expect.stringContaining("no service of") });
  expect(await run("status")).toMatchObject({ code: 1, stderr: expect.stringContaining("(host_unreachable)") });
  const up = await run("up", "--port", "0");
  expect([up.code, up.stderr]).toEqual([0, expect.stringContaining("started a service at")]);
  // The login that was kept has another address in it, as after a start at another port.
  const kept = join(base, "config/labwright/credentials.json");
  await writeFile(kept, (await readFile(kept, "utf8")).replaceAll(await serviceUrl(), before));
  const status = await run("status", "--format", "json");
  expect(JSON.parse(status.stdout).live.nodes.map(({ status }: { status: string }) => status)).toEqual(["running", "running"]);
});

test("up keeps the login of another user over a restart of the service, at the same port and at another one", {
  timeout: 2 * patience,
}, async () => {
  const kept = async () =>
    JSON.parse(await readFile(join(base, "config/labwright/credentials.json"), "utf8")) as {
      readonly current: string;
      readonly logins: readonly { readonly url: string; readonly username?: string }[];
    };
  const whoIs = async () => {
    const { current, logins } = await kept();
    return logins.find(({ url }) => url === current)?.username;
  };
  const password = { LABWRIGHT_PASSWORD: "the long way home" };
  // Admin has a login at an earlier port, too.
  expect(await whoIs()).toBe("admin");
  expect((await run("down")).code).toBe(0);
  await write("name: elsewhere\nnodes: {}\n", "other.lw.yml");
  expect((await run("up", "other.lw.yml", "--port", "0")).code).toBe(0);
  expect((await runWith(password, "users", "add", "alice")).code).toBe(0);
  expect((await runWith(password, "login", "--user", "alice")).code).toBe(0);
  await write("name: alices\nnodes: {}\n", "alice.lw.yml");
  try {
    const sameLogin = async (port: string) => {
      expect((await run("down")).code).toBe(0);
      const up = await run("up", "alice.lw.yml", "--port", port);
      expect([up.code, up.stderr]).toEqual([0, expect.not.stringContaining("signed in as")]);
      const labs = await run("labs", "--format", "json");
      expect([labs.code, await whoIs()]).toEqual([0, "alice"]);
      expect(JSON.parse(labs.stdout).labs.map(({ owner }: { owner: string }) => owner)).toEqual(["alice"]);
    };
    await sameLogin(new URL(await serviceUrl()).port);
    await sameLogin("0");
    const logins = (await kept()).logins.map(({ username }) => username);
    expect([logins.includes("alice"), logins.includes("admin")]).toEqual([true, true]);
  } finally {
    await run("destroy", "-t", "alice.lw.yml", "--yes");
    await rm(join(base, "config"), { recursive: true });
    const up = await run("up", "other.lw.yml");
    expect([up.code, up.stderr]).toEqual([0, expect.stringContaining("signed in as admin")]);
    await run("destroy", "-t", "other.lw.yml", "--yes");
    for (const file of ["alice.lw.yml", "other.lw.yml"]) await rm(join(folder, file));
  }
});
