import { duplexPair } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestLocalHost, testLocalHost } from "../../hosts/local/testing/test-local-host.fixture.ts";
import type { Upgrade } from "../common/call.ts";
import { createService } from "../create-service.ts";
import { failureOf, until } from "../service.fixture.ts";
import type { Handlers, Service } from "../service.ts";
import { sqliteStore } from "../store/sqlite.ts";

const yaml = `name: real
nodes:
  h1: {template: linux}
  p1: {template: pc}
  r1: {template: frr}
links:
  - ["r1:eth0", "h1:eth0"]
  - ["r1:eth1", "p1:eth0"]
`;

let local: TestLocalHost;
let service: Service;
let token: string;

const call = { requestId: "test", signal: new AbortController().signal, address: "127.0.0.1", respondAsync: false };

function post<Id extends keyof Handlers>(id: Id, body: object): ReturnType<Handlers[Id]> {
  const handle = service.handlers[id] as unknown as (request: unknown, caller: unknown, with_: unknown) => ReturnType<Handlers[Id]>;
  return handle({ body, query: {}, params: {} }, service.authenticate(token), call);
}

async function typed(node: string, command: string): Promise<string> {
  return (await post("execConsole", { lab: "/real", node, command })).output!;
}

/** The service over the embedded host: real namespaces, real FRR. */
beforeAll(async () => {
  local = await testLocalHost();
  service = createService({ host: local.host, store: sqliteStore(":memory:"), log: () => {}, version: "test" });
  const request = { body: { username: "admin", password: "test" }, query: undefined, params: undefined };
  token = (await service.handlers.login(request, null, call)).token!;
  await post("deployProject", { yaml });
  await until(async () => (await post("getProjectStatus", { yaml })).live?.nodes?.every(({ status }) => status === "running") === true);
});
afterAll(async () => {
  await service.close();
  await local[Symbol.asyncDispose]();
});

test("the plan after deploy is empty", async () => {
  expect((await post("planProject", { yaml })).actions).toEqual([]);
});

test("inspect shows the limits that the machine enforces for each node", async () => {
  const { features } = await post("getCapabilities", {});
  const { nodes } = await post("inspectProject", { lab: "/real", refresh: true });
  expect(nodes.find(({ node }) => node === "h1")?.limits).toEqual({
    ...(features?.memoryLimit === true && { memory_bytes: 1024 * 2 ** 20 }),
    ...(features?.processLimit === true && { processes: 1024 }),
    disk_bytes: 4096 * 2 ** 20,
  });
});

test("inspect shows cpu, ram and position of each node: from the lab, else from its template or the layout", async () => {
  const text = `name: sized
nodes:
  big: {template: linux, cpu: 0.5, ram: 96, position: {x: 120, y: 340}, start: false}
  plain: {template: linux, start: false}
`;
  const nodesNow = async () => {
    const { nodes } = await post("inspectProject", { lab: "/sized", refresh: true });
    return Object.fromEntries(nodes.map(({ node, cpu, ram, position, placed }) => [node, { cpu, ram, position, placed }]));
  };
  await post("deployProject", { yaml: text });
  try {
    const { features } = await post("getCapabilities", {});
    const before = await nodesNow();
    expect(before["big"]).toEqual({ cpu: 0.5, ram: 96, position: { x: 120, y: 340 } });
    expect(before["plain"]).toEqual({
      cpu: expect.any(Number),
      ram: 1024,
      position: { x: expect.any(Number), y: expect.any(Number) },
      placed: true,
    });
    expect([features?.memoryLimit, before["plain"]?.position]).not.toEqual([true, before["big"]?.position]);
    await post("reconcileProject", { yaml: text.replace("cpu: 0.5, ram: 96", "cpu: 2, ram: 128").replace("x: 120", "x: 121") });
    expect((await nodesNow())["big"]).toEqual({ cpu: 2, ram: 128, position: { x: 121, y: 340 } });
  } finally {
    await post("destroyProject", { lab: "/sized" });
  }
});

test.each([
  ["daemons: ospfx", /ospfx/],
  ["daemons: [ospfd]", /daemons/],
  ["demons: ospfd", /demons/],
])("the invalid attribute {%s} blocks on old and new nodes alike, and nothing is changed", async (attribute, named) => {
  const good = "name: attributes\nnodes:\n  r1: {template: frr, attributes: {daemons: ospfd}, start: false}\n";
  const wrong = `{template: frr, attributes: {${attribute}}, start: false}`;
  const old = good.replace("{template: frr, attributes: {daemons: ospfd}, start: false}", wrong);
  const fresh = `${good}  r2: ${wrong}\n`;
  expect(await failureOf(post("deployProject", { yaml: old }))).toMatchObject({
    code: "invalid_intent",
    message: expect.stringMatching(named),
  });
  await post("deployProject", { yaml: good });
  try {
    for (const [yaml, key] of [
      [old, "r1"],
      [fresh, "r2"],
    ] as const) {
      const answers = [
        await outcomeOf("planProject", yaml),
        await outcomeOf("reconcileProject", yaml),
        await outcomeOf("validateProject", yaml),
      ];
      for (const answer of answers) {
        expect(answer).toMatch(named);
        expect(answer).toContain(key);
        expect(answer).toMatch(/invalid_intent|"applicable":false/);
      }
    }
    expect((await local.session.observe("/attributes"))?.nodes.map(({ name, attributes }) => [name, attributes])).toEqual([
      ["r1", { daemons: "ospfd" }],
    ]);
    expect((await post("planProject", { yaml: good })).actions).toEqual([]);
  } finally {
    await post("destroyProject", { lab: "/attributes" });
  }
});

/** Returns the answer or the failure of an operation as text. */
async function outcomeOf(id: "planProject" | "reconcileProject" | "validateProject", text: string): Promise<string> {
  try {
    return JSON.stringify(await post(id, { yaml: text, lab: "/attributes" }));
  } catch (error) {
    const { code, message } = error as Error & { readonly code: string };
    return `${code} ${message}`;
  }
}

test("a link is found by its ends in either order, and shown in the caller's order", async () => {
  const side = { delay: 3, jitter: 0, loss: 0, bandwidth: 0 };
  const straight = await post("applyLinkQuality", { lab: "/real", endpoints: ["r1:eth0", "h1:eth0"], a: side, save: false });
  expect(straight).toMatchObject({ link: "h1:eth0 -- r1:eth0", effective: { a: side } });
  const turned = await post("applyLinkQuality", { lab: "/real", endpoints: ["h1:eth0", "r1:eth0"], a: side, save: false });
  expect(turned).toMatchObject({ link: "h1:eth0 -- r1:eth0", endpoints: ["h1:eth0", "r1:eth0"], effective: { a: side } });
  const { live } = await post("getProjectStatus", { lab: "/real" });
  expect(live?.netem).toEqual([{ link: "h1:eth0 -- r1:eth0", endpoints: ["r1:eth0", "h1:eth0"], b: side }]);
  expect(await post("applyLinkQuality", { lab: "/real", endpoints: ["h1:eth0", "r1:eth0"], save: false })).toHaveProperty("effective", {});
  const unlinked = post("setLinkSuspend", { lab: "/real", endpoints: ["h1:eth0", "p1:eth0"], suspended: true });
  await expect(unlinked).rejects.toMatchObject({ code: "link_not_found" });
});

test("commands run in FRR's own shell, through its configuration modes and back", async () => {
  expect(await typed("r1", "show version")).toMatch(/^FRRouting/);
  expect(await typed("r1", "configure terminal")).toBe("");
  expect(await typed("r1", "interface eth0\nip address 10.0.0.1/24\nend")).toBe("");
  expect(await typed("r1", "show running-config")).toContain("ip address 10.0.0.1/24");
  expect(await typed("r1", "bogus")).toBe("% Unknown command: bogus");
  expect((await typed("r1", "list")).split("\n").length).toBeGreaterThan(100);
});

test("commands run in a busybox shell, and a command that does not end is interrupted", async () => {
  expect(await typed("h1", "seq 1 3000")).toBe(Array.from({ length: 3000 }, (_, index) => index + 1).join("\n"));
  const endless = post("execConsole", { lab: "/real", node: "h1", command: "echo begin; sleep 100", timeout_ms: 1500 });
  await expect(endless).rejects.toMatchObject({ code: "console_timeout", data: { output: "begin\n" } });
  expect(await typed("h1", "echo still here")).toBe("still here");
});

test("commands run at a small host's prompt", async () => {
  expect(await typed("p1", "help")).toContain("ping HOST");
});

test("pagers of a real node are paged through, and its shell comes back after it was left", async () => {
  const numbers = Array.from({ length: 200 }, (_, index) => index + 1).join("\n");
  expect(await typed("h1", "seq 1 200 > /tmp/long; more /tmp/long")).toBe(numbers);
  expect((await typed("h1", "less /tmp/long")).replace(/\n~$/gm, "")).toContain("\n150\n");
  expect(await typed("h1", "cd /usr; stty cols 30")).toBe("");
  const words = Array.from({ length: 30 }, (_, index) => `word${index}`).join(" ");
  expect(await typed("h1", `echo ${words}`)).toBe(words);
  expect(await typed("h1", "stty cols 80; cd /")).toBe("");
  // The console's program ends and is started again: its prompt comes later.
  expect(await typed("h1", "exit")).toContain("BusyBox");
  expect(await typed("h1", "echo back")).toBe("back");
});

test("two commands at once on one real console wait for each other", async () => {
  const both = await Promise.all(["sleep 1; echo one", "echo two"].map((command) => typed("h1", command)));
  expect(both).toEqual(["one", "two"]);
});

test("FRR's name and modes may change; its errors are returned", async () => {
  expect(await typed("r1", "configure terminal\nhostname core\nend")).toBe("");
  expect(await typed("r1", "bogus")).toBe("% Unknown command: bogus");
  expect(await typed("r1", "configure terminal\nno hostname\nend")).toBe("");
  expect(await typed("r1", "show running-config")).toContain("frr version");
});

test("commands on a small host return their output, slow commands too", async () => {
  expect(await typed("p1", "nonsense")).toContain("unknown command");
  expect(await typed("p1", "ip 10.9.9.1/24")).toBe("");
  expect(await typed("p1", "ping 10.9.9.1 -c 2")).toContain("2 packets transmitted");
  expect(await typed("p1", "show ip")).toContain("10.9.9.1/24");
});

test("the terminal gets the window size of a viewer; the last size counts", async () => {
  const open = async () => {
    const { stream } = await post("attachConsole", { lab: "/real", node: "h1" });
    const handle = service.handlers.streamConsole as unknown as (request: unknown, caller: unknown, with_: unknown) => Promise<Upgrade>;
    const upgrade = await handle({ body: undefined, query: {}, params: { ticket: stream } }, service.authenticate(token), call);
    const [near, far] = duplexPair();
    upgrade.attach(near);
    far.on("error", () => {}).resume();
    return { resize: upgrade.resize!, far };
  };
  const [first, second] = [await open(), await open()];
  const size = () => typed("h1", "stty size");
  first.resize(132, 43);
  await expect.poll(size).toBe("43 132");
  second.resize(100, 30);
  await expect.poll(size).toBe("30 100");
  first.far.destroy();
  second.far.destroy();
});

test("the scrollback does not repeat a shell's terminal queries", async () => {
  await typed("h1", "printf '\\033[6nmark\\033[c\\n'");
  const { stream } = await post("attachConsole", { lab: "/real", node: "h1" });
  const handle = service.handlers.streamConsole as unknown as (request: unknown, caller: unknown, with_: unknown) => Promise<Upgrade>;
  const upgrade = await handle({ body: undefined, query: {}, params: { ticket: stream } }, service.authenticate(token), call);
  const [near, far] = duplexPair();
  upgrade.attach(near);
  const seen: Buffer[] = [];
  far.on("error", () => {}).on("data", (bytes: Buffer) => seen.push(bytes));
  await expect.poll(() => Buffer.concat(seen).toString()).toContain("mark\r\n");
  expect(["\x1b[6n", "\x1b[c"].filter((ask) => Buffer.concat(seen).includes(ask))).toEqual([]);
  far.destroy();
});

test("a dialogue and a command that does not end get no earlier console output, even if no viewer was connected", async () => {
  await typed("h1", "echo OLD$((1))");
  const fresh = createService({ host: local.host, store: sqliteStore(":memory:"), log: () => {}, version: "test" });
  const request = { body: { username: "admin", password: "test" }, query: undefined, params: undefined };
  const session = (await fresh.handlers.login(request, null, call)).token!;
  const with_ = (id: "runConsole" | "execConsole", body: object) =>
    (fresh.handlers[id] as unknown as (request: unknown, caller: unknown, with_: unknown) => Promise<unknown>)(
      { body: { lab: "/real", node: "h1", ...body }, query: {}, params: {} },
      fresh.authenticate(session),
      call,
    );
  const dialogue = with_("runConsole", { steps: [{ expect: "OLD1", timeout_ms: 500 }] });
  await expect(dialogue).rejects.toMatchObject({ code: "console_timeout", data: { output: "" } });
  const steps = [{ send: "sleep 0.2; echo NEW$((1))", expect: { regex: "^NEW1$" } }];
  expect(await with_("runConsole", { steps })).toMatchObject({ steps: [{ matched: true }] });
  const late = with_("execConsole", { command: "echo begin; sleep 100", timeout_ms: 1500 });
  await expect(late).rejects.toMatchObject({ code: "console_timeout", data: { output: "begin\n" } });
  // Something else holds the console: there is no prompt, and nothing is the command's.
  // The shell is back after the ^C of the previous command; the program owns the console once it prints its marker.
  await with_("execConsole", { command: "true" });
  const hold = { send: "echo ov''er; cat > /dev/null", expect: { regex: "^over$" } };
  await with_("runConsole", { steps: [hold, { send: "stays on the screen", expect: "screen\n" }] });
  const held = await with_("execConsole", { command: "echo x", timeout_ms: 1500 }).catch((error: { data: { output: string } }) => error);
  expect(JSON.stringify(held)).not.toMatch(/OLD1|NEW1|begin|stays|over/);
  await with_("runConsole", { steps: [{ send: "\x03", expect: "# " }] });
  await fresh.close();
});

test("the log of a real console contains the output since its node's start, also after the node has stopped", async () => {
  const log = async (node: string) => (await post("readConsoleLog", { lab: "/real", node })).output;
  await typed("h1", "echo last words");
  expect(await log("h1")).toContain("\nlast words\n");
  await post("execProject", { lab: "/real", action: "stop", node: "h1", stopmode: 1 });
  expect(await log("h1")).toContain("\nlast words\n");
  await post("execProject", { lab: "/real", action: "start", node: "h1" });
  await expect.poll(() => log("h1")).not.toContain("last words");
  await post("reconcileProject", { yaml: yaml.replace("links:", "  late: {template: linux, start: false}\nlinks:") });
  expect(await log("late")).toBe("");
});
