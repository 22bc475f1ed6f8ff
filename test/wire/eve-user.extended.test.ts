import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { FakeEveOptions } from "../fakes/eve/options.ts";
import { type FakeEve, startFakeEve } from "../fakes/eve/server.ts";
import { EveShell } from "./eve-shell.ts";

let ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

interface Desk {
  readonly fake: FakeEve;
  readonly shell: EveShell;
  readonly home: string;
  readonly write: (name: string, text: string) => Promise<void>;
  readonly read: (name: string) => Promise<string>;
}

/** A host of EVE-NG and an empty home, without a service. */
async function host(options: FakeEveOptions = {}): Promise<Desk> {
  const fake = await startFakeEve({ latency: "none", templates: ["vpcs"], notices: "visible", ...options });
  ends.push(async () => {
    await fake.close();
    expect(fake.defects).toEqual([]);
  });
  const home = await mkdtemp(join(tmpdir(), "labwright-eve-user-"));
  ends.push(() => rm(home, { recursive: true, force: true }));
  const shell = new EveShell(home, ends);
  const write = (name: string, text: string) => writeFile(join(home, name), text);
  return { fake, shell, home, write, read: (name) => readFile(join(home, name), "utf8") };
}

/** The same with a service, and admin signed in. */
async function desk(options: FakeEveOptions = {}): Promise<Desk & { readonly restart: () => Promise<void> }> {
  const here = await host(options);
  const serve = async () => {
    const stop = await here.shell.serve("--host-url", here.fake.url, "--host-plain-http");
    expect(await here.shell.run("login", "--user", "admin")).toMatchObject({ code: 0 });
    return stop;
  };
  let stop = await serve();
  const restart = async () => {
    await stop();
    stop = await serve();
  };
  return { ...here, restart };
}

const campus = (more = "") => `name: campus
nodes:
  pc1: { template: vpcs }
  pc2: { template: vpcs }
  pc3: { template: vpcs, name: PC_3 }
links: [["pc1:eth0", "pc2:eth0"]]
${more}`;

/** A lab with the same numbers that nobody manages, as someone draws it in the web interface. */
function drawTwin(fake: FakeEve, path: string): void {
  const file = (fake.labFile("/campus.unl") ?? "")
    .replace(/(<lab [^>]*\bid=")[^"]*/, `$1${crypto.randomUUID()}`)
    .replace(/(<lab [^>]*\bname=")[^"]*/, `$1${path.split("/").at(-1)}`);
  fake.putLabFile(`${path}.unl`, file);
}

describe("after a restart of the service, nodes whose number another lab has", () => {
  it("are counted as unknown by questions, keep up and apply from success, and are settled by a stop of the other lab once it is adopted", async () => {
    const { fake, shell, write, restart } = await desk();
    await write("campus.lw.yml", campus());
    expect(await shell.run("deploy")).toMatchObject({ code: 0 });
    drawTwin(fake, "/hand2");
    await restart();
    expect((await shell.run("status")).stdout).toMatch(/pc1 +unknown \(number 1: possibly \/hand2\)[\s\S]*labwright adopt/);
    expect((await shell.run("destroy")).stderr).toContain("Remove the lab /campus (3 nodes, none running, 3 unknown)");
    expect((await shell.run("renumber")).stderr).toContain("/campus (3 nodes, none running, 3 unknown)");
    const up = await shell.run("up");
    expect([up.code, up.stderr]).toEqual([1, expect.stringContaining("whether pc1, pc2, pc3 run is unknown")]);
    expect(up.stderr).not.toContain("The lab is up");
    expect(await shell.run("apply", "-y")).toMatchObject({ code: 1, stderr: expect.stringMatching(/pc1, pc2, pc3 run is unknown/) });
    expect(await shell.run("plan")).toMatchObject({ code: 0, stderr: expect.stringMatching(/note: whether pc1, pc2, pc3 run is unknown/) });
    const exec = await shell.run("exec", "-c", "show ip");
    expect([exec.code, exec.stderr]).toEqual([1, expect.stringMatching(/skipped, unknown: pc1, pc2, pc3/)]);

    const refused = await shell.run("stop", "--lab", "/hand2");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("labwright adopt /hand2")]);
    expect(await shell.run("adopt", "/hand2")).toMatchObject({ code: 0 });
    expect(await shell.run("stop", "--lab", "/hand2")).toMatchObject({ code: 0 });
    expect((await shell.run("status")).stdout).toMatch(/pc1 +running[\s\S]*pc3 +PC_3 +running/);
    expect(fake.running()).toHaveLength(3);
  });
});

it("a destroy that broke off is reported by status and by a plan without changes, until it is repeated", async () => {
  const { fake, shell, write } = await desk();
  await write("campus.lw.yml", campus().replaceAll("template: vpcs", "template: vpcs, start: false"));
  expect(await shell.run("deploy")).toMatchObject({ code: 0 });
  fake.breakNext(/^DELETE .*campus/, "page before");
  const broken = await shell.run("destroy", "-y");
  expect([broken.code, broken.stderr]).toEqual([1, expect.stringMatching(/hint: .*labwright destroy deletes the rest/)]);
  expect((await shell.run("status")).stdout).toMatch(/a destroy of \/campus did not finish \(failed\): labwright destroy/);
  const plan = await shell.run("plan");
  expect([plan.stdout, plan.stderr]).toEqual(["no changes\n", expect.stringContaining("a destroy of /campus did not finish")]);
  expect(await shell.run("destroy", "-y")).toMatchObject({ code: 0, stdout: "destroyed /campus\n" });
});

it("hints name nodes by their keys, cli names what it leaves out, and a lab without running nodes is no success of cli", async () => {
  const { shell, write } = await desk();
  await write("campus.lw.yml", campus());
  expect(await shell.run("deploy")).toMatchObject({ code: 0 });
  expect(await shell.run("stop", "--node", "pc3")).toMatchObject({ code: 0 });
  const one = await shell.run("cli", "pc3", "--", "show ip");
  expect([one.code, one.stderr]).toEqual([1, expect.stringMatching(/node pc3 is stopped[\s\S]*labwright start pc3 starts it/)]);
  const some = await shell.run("cli", "--", "show ip");
  expect([some.code, some.stdout, some.stderr]).toEqual([0, expect.stringMatching(/pc1 \|[\s\S]*pc2 \|/), "skipped, stopped: pc3\n"]);
  expect(await shell.run("stop")).toMatchObject({ code: 0 });
  const none = await shell.run("cli", "--", "show ip");
  expect([none.code, none.stderr]).toEqual([
    1,
    expect.stringMatching(/skipped, stopped: pc1, pc2, pc3\nerror: no node has a text console/),
  ]);
  const json = await shell.run("cli", "--format", "json", "--", "show ip");
  expect([json.code, JSON.parse(json.stdout)]).toEqual([
    1,
    { results: [], skipped: expect.arrayContaining([{ node: "pc3", reason: "stopped" }]) },
  ]);
  const save = await shell.run("save", "--dir", "cfgs");
  expect(save.stdout).toMatch(/pc1 +skipped[\s\S]*nothing was written/);
  expect((await shell.run("logs", "pc1")).stderr).toMatch(/this host does not offer logs: .*\(unsupported\)/);
  expect((await shell.run("capture", "pc1:eth0")).stderr).toMatch(/this host does not offer packet captures \(unsupported\)/);
  const link = await shell.run("link", "pc1:eth0", "--delay", "20");
  expect([link.code, link.stderr]).toEqual([1, expect.stringMatching(/this host does not offer link quality \(unsupported\)\n$/)]);
  const wrong = await shell.run("status", "--lab", "/campus.unl");
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/cannot have a lab .*without \.unl: \/campus /)]);
});

it("a node whose start broke off on the host is wiped, and neither status nor plan promises that a start ends that", async () => {
  const { fake, shell, write } = await desk();
  await write("campus.lw.yml", campus());
  expect(await shell.run("deploy")).toMatchObject({ code: 0 });
  expect(await shell.run("stop")).toMatchObject({ code: 0 });
  await fake.stickNode("/campus.unl", 1);
  await expect
    .poll(async () => (await shell.run("status")).stdout, { timeout: 20_000, interval: 100 })
    .toMatch(/pc1 +failed \(stuck: wipe it\)/);
  const status = await shell.run("status");
  expect([status.code, status.stderr]).toEqual([
    1,
    expect.stringMatching(/hint: labwright wipe \S+ \S+ --node pc1 removes .* labwright start/),
  ]);
  expect(status.stderr).not.toContain("labwright apply starts");
  const plan = await shell.run("plan");
  expect([plan.code, plan.stdout]).toEqual([1, expect.stringContaining("labwright wipe pc1")]);
  expect(plan.stdout).not.toContain("is started again");
  expect(await shell.run("wipe", "--node", "pc1", "-y")).toMatchObject({ code: 0 });
  expect(await shell.run("start", "--node", "pc1")).toMatchObject({ code: 0 });
});

it("a plan of a locked lab cannot be applied, which is an error", async () => {
  const { shell, write } = await desk();
  await write("campus.lw.yml", campus());
  expect(await shell.run("deploy")).toMatchObject({ code: 0 });
  expect(await shell.run("lock")).toMatchObject({ code: 0 });
  expect(await shell.run("plan")).toMatchObject({ code: 0 });
  await write("campus.lw.yml", campus("description: changed\n"));
  expect(await shell.run("plan")).toMatchObject({ code: 1, stdout: expect.stringContaining("This plan cannot be applied") });
  expect(await shell.run("unlock")).toMatchObject({ code: 0 });
  expect(await shell.run("plan")).toMatchObject({ code: 2 });
});

it("a status that the host does not answer is an error", async () => {
  const { fake, shell, write } = await desk();
  await write("campus.lw.yml", campus());
  expect(await shell.run("deploy")).toMatchObject({ code: 0 });
  await fake.close();
  // The last answer of the host counts for a moment.
  const status = async () => {
    const { code, stdout } = await shell.run("status");
    return `${code} ${stdout}`;
  };
  await expect
    .poll(status, { timeout: 30_000, interval: 100 })
    .toMatch(/^1 [\s\S]*the host does not report the state of the nodes: .* \(host_unreachable\)/);
});

it("a status of a lab that was deleted by hand is an error", async () => {
  const { fake, shell, write } = await desk();
  await write("campus.lw.yml", campus("").replace(/pc1: .*/, "pc1: { template: vpcs, start: false }"));
  expect(await shell.run("deploy")).toMatchObject({ code: 0 });
  expect(await shell.run("status")).toMatchObject({ code: 0 });
  const login = await fetch(`${fake.url}/api/auth/login`, {
    method: "POST",
    body: JSON.stringify({ username: "admin", password: "eve", html5: -1 }),
  });
  const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
  expect((await fetch(`${fake.url}/api/labs/campus.unl`, { method: "DELETE", headers: { cookie } })).status).toBe(200);
  await expect
    .poll(async () => shell.run("status"), { timeout: 30_000, interval: 100 })
    .toMatchObject({ code: 1, stdout: expect.stringContaining("not on the host") });
});

it("up starts a service on EVE-NG with the given address, and signs in as a user of that host", async () => {
  const { fake, shell, write } = await host();
  await write("campus.lw.yml", campus());
  const flags = ["up", "--host", "eve", "--host-url", fake.url, "--host-plain-http", "--port", "0"];
  ends.push(() => shell.run("down"));
  const nobody = await shell.runWith({ LABWRIGHT_PASSWORD: undefined }, ...flags);
  expect([nobody.code, nobody.stderr]).toEqual([
    1,
    expect.stringMatching(/users are the users of its EVE-NG host[\s\S]*hint: .*labwright login/),
  ]);
  expect(fake.calls.filter((call) => call.includes("login"))).toEqual([]);
  const up = await shell.runWith({ LABWRIGHT_USER: "admin" }, "up");
  expect([up.code, up.stderr]).toEqual([0, expect.stringContaining("The lab is up. What to do next")]);
  const down = await shell.run("down");
  expect([down.code, down.stderr]).toEqual([0, expect.stringContaining("labs on the EVE-NG host keep running")]);
});
