import { afterEach, describe, expect, it } from "vitest";
import type { FakeEveOptions } from "../../../../test/fakes/eve/options.ts";
import { type EveBench, eveBench, lab, node, operation, pair } from "../eve-bench.fixture.ts";

let fixture: EveBench | undefined;

afterEach(async () => {
  const ended = fixture;
  fixture = undefined;
  await ended?.[Symbol.asyncDispose]();
  expect(ended?.fake.defects ?? []).toEqual([]);
  expect(ended?.fake.locks() ?? []).toEqual([]);
});

async function bench(options: FakeEveOptions = {}): Promise<EveBench> {
  fixture = await eveBench(options);
  return fixture;
}

const stopped = { ...pair, nodes: pair.nodes.map((one) => ({ ...one, start: false })) };

/** A copy of the lab at this path with the same numbers, like labs that users draw in the web interface. */
function copy({ fake }: EveBench, from: string, to: string): void {
  const file = (fake.labFile(`${from}.unl`) ?? "")
    .replace(/(<lab [^>]*\bid=")[^"]*/, `$1${crypto.randomUUID()}`)
    .replace(/(<lab [^>]*\bname=")[^"]*/, `$1${to.slice(1)}`);
  fake.putLabFile(`${to}.unl`, file);
}

/** A new session with the host, without the knowledge of the previous one. */
async function forgetOwners({ fake, session }: EveBench): Promise<void> {
  fake.expireSession("admin");
  await session.labs();
}

const running = ({ fake }: EveBench) =>
  fake
    .running()
    .map(({ lab: path, name }) => `${path} ${name}`)
    .sort();

const powers = async ({ session }: EveBench, path: string) => (await session.status(path)).nodes.map(({ status }) => status);
const idOf = async ({ session }: EveBench, path: string, name: string) =>
  (await session.observe(path))?.nodes.find((one) => one.name === name)?.id ?? "";

describe.each(["hidden", "visible"] as const)("with notices %s, a stopped lab whose numbers run for another lab", (notices) => {
  const two = async () => {
    const here = await bench({ notices });
    await here.make("/one", pair);
    copy(here, "/one", "/two");
    return here;
  };

  it("saves no configuration of them", async () => {
    const here = await two();
    const saved = await here.session.saveConfigs?.("/two", ["1"], new AbortController().signal);
    expect(saved?.get("1")).toMatchObject({ code: "number_clash", data: { clash: { number: 1, lab: "/one", certain: true } } });
  });

  it("has nodes that are unknown, with the other lab and its node named, in status and in what is observed", async () => {
    const here = await two();
    expect(await powers(here, "/one")).toEqual(["running", "running"]);
    const { nodes } = await here.session.status("/two");
    expect(nodes.map(({ status, clash, ready }) => ({ status, clash, ready }))).toEqual([
      { status: "unknown", clash: { number: 1, lab: "/one", node: "pc1", certain: true }, ready: undefined },
      { status: "unknown", clash: { number: 2, lab: "/one", node: "pc2", certain: true }, ready: undefined },
    ]);
    expect((await here.session.observe("/two"))?.nodes[0]).toMatchObject({ power: "unknown", clash: { lab: "/one" } });
  });

  it("gives no console, and is neither started nor stopped; the other lab runs on", async () => {
    const here = await two();
    const clash = { code: "number_clash", message: expect.stringContaining("/one"), data: { clash: { lab: "/one", node: "pc1" } } };
    const id = await idOf(here, "/two", "pc1");
    await expect(here.session.console("/two", id)).rejects.toMatchObject(clash);
    here.calls();
    await expect(here.run("/two", pair, [operation({ do: "start", node: "pc1" })])).rejects.toMatchObject(clash);
    await expect(here.run("/two", pair, [operation({ do: "stop", node: "pc1", mode: 3 })])).rejects.toMatchObject(clash);
    expect(here.calls().filter((call) => /\/(start|stop|wipe)$/.test(call))).toEqual([]);
    expect(running(here)).toEqual(["/one.unl pc1", "/one.unl pc2"]);
  });

  it("is planned without stops, and its starts are blocked with the reason", async () => {
    const here = await two();
    const down = await here.plan("/two", stopped);
    expect([down.operations, down.summary.stops]).toEqual([[], 0]);
    const up = await here.plan("/two", { ...pair, nodes: pair.nodes.map((one) => ({ ...one, start: true })) });
    expect(up.applicable).toBe(false);
    expect(up.blocked.map(({ key, reason }) => [key, reason.code, reason.text.includes("/one")])).toEqual([
      ["pc1", "number_clash", true],
      ["pc2", "number_clash", true],
    ]);
  });

  it("is wiped and destroyed, and the other lab runs on", async () => {
    const here = await two();
    await here.run("/two", pair, [operation({ do: "wipe", node: "pc1" })]);
    await here.run("/two", null, (await here.plan("/two", null)).operations);
    expect(here.fake.labFile("/two.unl")).toBeUndefined();
    expect(here.fake.running().map(({ orphan }) => orphan)).toEqual([false, false]);
    expect(running(here)).toEqual(["/one.unl pc1", "/one.unl pc2"]);
    await here.make("/one", null);
    expect(here.fake.running()).toEqual([]);
  });

  it("gets other numbers by renumber, keeps its startup configs, and runs beside the other lab", async () => {
    const here = await two();
    const { renumber } = here.session;
    const before = await here.session.observe("/two");
    const ids = { nodes: { a: "1", b: "2" }, networks: {}, links: { x: "bridge1" } };
    const done = await renumber?.("/two", ids);
    expect(done).toEqual({
      ids: { nodes: { a: "3", b: "4" }, networks: {}, links: { x: "bridge2" } },
      nodes: [
        { name: "pc1", before: 1, after: 3 },
        { name: "pc2", before: 2, after: 4 },
      ],
      networks: [{ name: expect.any(String), before: 1, after: 2 }],
    });
    const after = await here.session.observe("/two");
    expect(after?.id).toBe(before?.id);
    expect(after?.nodes.map(({ id, name, power, startupConfig }) => [id, name, power, startupConfig])).toEqual([
      ["3", "pc1", "stopped", "ip 10.0.0.1/24\n"],
      ["4", "pc2", "stopped", undefined],
    ]);
    await here.run("/two", pair, [operation({ do: "start", node: "pc1" })]);
    expect(running(here)).toEqual(["/one.unl pc1", "/one.unl pc2", "/two.unl pc1"]);
    expect(await renumber?.("/two", ids).catch((error: unknown) => error)).toMatchObject({ code: "lab_in_use" });
  });

  it("cannot be distinguished from the running lab by a new session, until one of them is stopped: a stop ends only its own nodes", async () => {
    const here = await two();
    await forgetOwners(here);
    for (const path of ["/one", "/two"]) {
      const { nodes } = await here.session.status(path);
      expect(nodes.map(({ status, clash }) => [status, clash?.lab, clash?.certain])).toEqual([
        ["unknown", path === "/one" ? "/two" : "/one", false],
        ["unknown", path === "/one" ? "/two" : "/one", false],
      ]);
    }
    const stop = [operation({ do: "stop", node: "pc1", mode: 3 }), operation({ do: "stop", node: "pc2", mode: 3 })];
    await here.run("/two", pair, stop);
    expect(running(here)).toEqual(["/one.unl pc1", "/one.unl pc2"]);
    expect(await powers(here, "/one")).toEqual(["running", "running"]);
    const console = await here.session.console("/one", await idOf(here, "/one", "pc1"));
    console.stream.destroy();
    expect((await here.session.status("/two")).nodes.map(({ clash }) => clash?.certain)).toEqual([true, true]);
    await expect(here.run("/two", pair, stop)).rejects.toMatchObject({ code: "number_clash", data: { clash: { certain: true } } });
  });

  it("and runs itself is stopped by a new session, and destroyed", async () => {
    const here = await two();
    await forgetOwners(here);
    await here.run("/one", null, (await here.plan("/one", null)).operations);
    expect(here.fake.running()).toEqual([]);
    expect(here.fake.labFile("/one.unl")).toBeUndefined();
    expect(await powers(here, "/two")).toEqual(["stopped", "stopped"]);
  });
});

it("a lab that the host cannot read is not asked for again for the numbers of others while its file stays", async () => {
  const here = await bench();
  here.fake.putLabFile("/broken.unl", "<lab");
  const asked = () => here.calls().filter((call) => call.includes("/broken.unl/")).length;
  await here.make("/one", pair);
  expect(asked()).toBeGreaterThan(0);
  await here.make("/two", pair);
  expect(asked()).toBe(0);
});

describe("numbers", () => {
  it("a lab without a clash is known to run by a new session, and its status stays one call", async () => {
    const here = await bench();
    await here.make("/one", pair);
    await here.make("/two", pair);
    await forgetOwners(here);
    expect(await powers(here, "/one")).toEqual(["running", "running"]);
    here.calls();
    expect(await powers(here, "/one")).toEqual(["running", "running"]);
    expect(here.calls()).toHaveLength(1);
  });

  it("a new lab leaves numbers that a process of a deleted lab holds", async () => {
    const here = await bench();
    const tenant = 0;
    for (const id of [1, 2]) here.fake.occupyPort(32_768 + 128 * tenant + id);
    await here.make("/new", stopped);
    const observed = await here.session.observe("/new");
    expect(observed?.nodes.map(({ id, power }) => [id, power])).toEqual([
      ["3", "stopped"],
      ["4", "stopped"],
    ]);
    await here.make("/new", pair);
  });

  it("where all numbers are taken, a new lab gets those that do not run, and is destroyed", async () => {
    const here = await bench({ templates: ["vpcs"] });
    const many = (count: number) => lab({ nodes: Array.from({ length: count }, (_, i) => node(`n${i}`, "vpcs", { start: i < 2 })) });
    await here.make("/full", many(127));
    const few = lab({ nodes: ["a", "b"].map((key) => node(key, "vpcs", { start: false })) });
    await here.run("/few", few, (await here.plan("/few", few)).operations);
    expect(await powers(here, "/few")).toEqual(["stopped", "stopped"]);
    await expect(here.session.renumber?.("/few", { nodes: {}, networks: {}, links: {} })).rejects.toMatchObject({
      code: "host_error",
      message: expect.stringContaining("0 of them are free"),
    });
    await here.make("/few", null);
    expect(here.fake.running()).toHaveLength(2);
  });

  it("a node that something foreign holds is unknown after a stop that did nothing, and gets another number", async () => {
    const here = await bench();
    await here.make("/pair", stopped);
    const id = Number(await idOf(here, "/pair", "pc1"));
    await forgetOwners(here);
    here.fake.occupyPort(32_768 + id);
    expect(await powers(here, "/pair")).toEqual(["running", "stopped"]);
    const stop = here.run("/pair", pair, [operation({ do: "stop", node: "pc1", mode: 3 })]);
    await expect(stop).rejects.toMatchObject({ code: "host_error", message: expect.stringContaining("labwright renumber") });
    expect((await here.session.status("/pair")).nodes[0]).toMatchObject({ status: "unknown", clash: { number: id, certain: true } });
    const ids = { nodes: {}, networks: {}, links: {} };
    expect(await here.session.renumber?.("/pair", ids)).toMatchObject({ nodes: [{ name: "pc1", before: id }] });
    expect(await powers(here, "/pair")).toEqual(["stopped", "stopped"]);
  });

  it("a node that something foreign holds is destroyed by force alone, with a warning", async () => {
    const here = await bench();
    await here.make("/pair", stopped);
    const id = Number(await idOf(here, "/pair", "pc1"));
    await forgetOwners(here);
    here.fake.occupyPort(32_768 + id);
    const plan = await here.plan("/pair", null);
    await expect(here.run("/pair", null, plan.operations)).rejects.toMatchObject({
      code: "host_error",
      message: expect.stringContaining("--force"),
    });
    expect(here.fake.labFile("/pair.unl")).toBeDefined();
    const warnings: string[] = [];
    await here.run("/pair", null, plan.operations, { force: true, warn: ({ code, node: key }) => warnings.push(`${code} ${key}`) });
    expect(here.fake.labFile("/pair.unl")).toBeUndefined();
    expect(warnings).toEqual(["left_running pc1"]);
  });
});

describe("a node whose lock was left behind", () => {
  it.each([
    ["ce5", "visible"],
    ["ce5", "hidden"],
    ["ce6", "visible"],
  ] as const)(
    "%s, notices %s: has failed; its start is refused with the way out, and a wipe clears it at once",
    async (edition, notices) => {
      const here = await bench({ edition, notices });
      await here.make("/pair", stopped);
      await here.fake.stickNode("/pair.unl", Number(await idOf(here, "/pair", "pc1")));
      expect(await powers(here, "/pair")).toEqual(["failed", "stopped"]);
      await expect(here.run("/pair", pair, [operation({ do: "start", node: "pc1" })])).rejects.toMatchObject({
        code: "node_stuck",
        message: expect.stringMatching(/labwright wipe.*disk/),
      });
      here.calls();
      await here.run("/pair", pair, [operation({ do: "stop", node: "pc1", mode: 3 })]);
      expect(here.calls().filter((call) => call.endsWith("/stop"))).toEqual([]);
      await here.run("/pair", pair, [operation({ do: "wipe", node: "pc1" })]);
      expect(here.calls().filter((call) => /\/(stop|wipe)$/.test(call))).toEqual([expect.stringContaining("/wipe")]);
      expect(await powers(here, "/pair")).toEqual(["stopped", "stopped"]);
      await here.make("/pair", pair);
    },
  );

  it("goes with its lab at once, wiped or not", async () => {
    const here = await bench();
    for (const wipe of [true, false]) {
      await here.make("/pair", stopped);
      await here.fake.stickNode("/pair.unl", Number(await idOf(here, "/pair", "pc1")));
      const { operations } = await here.plan("/pair", null);
      await here.run("/pair", null, wipe ? operations : operations.filter(({ step }) => step.do !== "wipe"));
      expect(here.fake.labFile("/pair.unl")).toBeUndefined();
    }
  });

  it("is starting while its disk is prepared by a start of ours", async () => {
    const here = await bench({ latency: { ...quick, prepare: 3_000 } });
    const one = lab({ nodes: [node("r1", "linux", { start: false, attributes: { console: "telnet" } })] });
    await here.make("/lin", one);
    const starting = here.run("/lin", one, [operation({ do: "start", node: "r1" })]);
    await expect.poll(() => powers(here, "/lin")).toEqual(["starting"]);
    await starting;
    expect(await powers(here, "/lin")).toEqual(["running"]);
  });
});

const quick = {
  call: 0,
  save: 0,
  nodeStatus: 0,
  hostStatus: 0,
  start: 0,
  boot: 0,
  configure: 0,
  stop: 0,
  exit: 0,
  wipe: 0,
  exportConfig: 0,
};

describe.each(["hidden", "visible"] as const)("with notices %s, another user of the host", (notices) => {
  const users = ["admin", "second"].map((username) => ({ username, password: "eve" }));

  it("who is signed in here is named beside each node that runs for that user, and keeps the lab from being destroyed", async () => {
    const here = await bench({ notices, users });
    await here.make("/pair", pair);
    const second = await here.host.login("second", "eve");
    const { nodes } = await second.status("/pair");
    expect(nodes.map(({ status, other_user }) => [status, other_user])).toEqual([
      ["stopped", { user: "admin", certain: true }],
      ["stopped", { user: "admin", certain: true }],
    ]);
    const { operations } = await here.plan("/pair", null);
    const ids = { nodes: {}, networks: {}, links: {} };
    const destroyed = second.apply("/pair", operations, { ids, step: () => {}, owner: "second" });
    await expect(destroyed).rejects.toMatchObject({
      code: "lab_in_use",
      message: expect.stringContaining("run for user admin"),
      data: { users: ["admin"] },
    });
    expect(running(here)).toEqual(["/pair.unl pc1", "/pair.unl pc2"]);
    const warnings: string[] = [];
    const warn = ({ code, node: name }: { readonly code: string; readonly node: string }) => warnings.push(`${code} ${name}`);
    await second.apply("/pair", operations, { ids, step: () => {}, owner: "second", force: true, warn });
    expect(warnings).toEqual(["left_running pc1", "left_running pc2"]);
    expect(here.fake.labFile("/pair.unl")).toBeUndefined();
  });

  it("keeps a node that runs for that user from being deleted; a lab that is gone is deleted again without a word", async () => {
    const here = await bench({ notices, users });
    await here.make("/pair", pair);
    const second = await here.host.login("second", "eve");
    const observed = await second.observe("/pair");
    const ids = { nodes: { pc1: observed?.nodes[0]?.id ?? "" }, networks: {}, links: {} };
    const gone = [operation({ do: "delete-node", node: "pc1" })];
    const deleting = second.apply("/pair", gone, { ids, step: () => {}, owner: "second" });
    await expect(deleting).rejects.toMatchObject({ code: "lab_in_use", data: { users: ["admin"] } });
    expect((await second.observe("/pair"))?.nodes).toHaveLength(2);
    const { operations } = await here.plan("/pair", null);
    await here.make("/pair", null);
    await second.apply("/pair", operations, { ids, step: () => {} });
    expect(here.fake.running()).toEqual([]);
  });

  it("who has the lab open in a browser keeps it from being destroyed, and its nodes may run for that user", async () => {
    const here = await bench({ notices, users });
    await here.make("/pair", stopped);
    const cookie = await browser(here, "second");
    await fetch(`${here.fake.url}/api/labs/pair.unl/topology`, { headers: { cookie } });
    expect((await here.session.status("/pair")).nodes.map(({ other_user }) => other_user)).toEqual([
      { user: "second", certain: false },
      { user: "second", certain: false },
    ]);
    const { operations } = await here.plan("/pair", null);
    await expect(here.run("/pair", null, operations)).rejects.toMatchObject({
      code: "lab_in_use",
      message: expect.stringContaining("user second has it open"),
    });
    await fetch(`${here.fake.url}/api/labs/close`, { method: "DELETE", headers: { cookie } });
    await here.make("/pair", null);
  });

  it("whose lab it is keeps it from being destroyed while more nodes run than can be seen", async () => {
    const here = await bench({ notices, users });
    await here.make("/pair", stopped);
    const cookie = await browser(here, "second");
    await fetch(`${here.fake.url}/api/labs/pair.unl/nodes/1/start`, { headers: { cookie } });
    const { operations } = await here.plan("/pair", null);
    // The lab is admin's own, and nothing shows that the other user uses it.
    await expect(here.run("/pair", null, operations, { owner: "second" })).rejects.toMatchObject({
      code: "lab_in_use",
      message: expect.stringContaining("nodes may run for user second"),
    });
    expect(here.fake.labFile("/pair.unl")).toBeDefined();
    await fetch(`${here.fake.url}/api/labs/pair.unl/nodes/1/stop`, { headers: { cookie } });
    await here.run("/pair", null, operations, { owner: "second" });
    expect(here.fake.labFile("/pair.unl")).toBeUndefined();
  });
});

/** Signs in another browser of the user. Returns the cookie. */
async function browser({ fake }: EveBench, username: string): Promise<string> {
  const body = JSON.stringify({ username, password: "eve", html5: "-1" });
  const answer = await fetch(`${fake.url}/api/auth/login`, { method: "POST", body });
  return answer.headers.get("set-cookie")?.split(";")[0] ?? "";
}
