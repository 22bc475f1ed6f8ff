import { type Duplex, duplexPair } from "node:stream";
import { afterEach, expect, test } from "vitest";
import { type Bench, type Client, createBench, failureOf, pair, three, until } from "../service.fixture.ts";

const benches: Bench[] = [];
async function deployed(yaml = pair): Promise<{ readonly made: Bench; readonly ann: Client }> {
  const made = createBench();
  benches.push(made);
  const ann = await made.login();
  await ann.call("deployProject", { yaml });
  return { made, ann };
}
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

/** Redeems a ticket and returns the client's end of the stream. */
async function open(client: Client, ticket: string): Promise<{ readonly far: Duplex; readonly seen: () => string }> {
  const upgrade = await client.get("streamConsole", { ticket });
  expect(upgrade.protocol).toBe("host-telnet");
  const [near, far] = duplexPair();
  upgrade.attach(near);
  const chunks: Buffer[] = [];
  far.on("data", (bytes: Buffer) => chunks.push(bytes));
  far.on("error", () => {});
  return { far, seen: () => Buffer.concat(chunks).toString() };
}

test("a command gives what it printed", async () => {
  const { ann } = await deployed();
  const answer = await ann.call("execConsole", { lab: "/pair", node: "r1", command: "echo hello there" });
  expect(answer).toMatchObject({ node: "r1", name: "r1", console_type: "telnet", command: "echo hello there", output: "hello there" });
  expect(answer.duration_ms).toBeGreaterThan(0);
});

test("commands on one console wait for each other and never mix", async () => {
  const { ann } = await deployed();
  const texts = ["alpha", "beta", "gamma", "delta"];
  const answers = await Promise.all(texts.map((text) => ann.call("execConsole", { lab: "/pair", node: "r1", command: `echo ${text}` })));
  expect(answers.map(({ output }) => output)).toEqual(texts);
});

test("a command whose turn does not come in time finds the console in use", async () => {
  const { ann } = await deployed();
  const endless = { send: "help", expect: "never comes", timeout_ms: 1500 };
  const holding = failureOf(ann.call("runConsole", { lab: "/pair", node: "r1", steps: [endless] }));
  await new Promise((settle) => setImmediate(settle));
  const late = await failureOf(ann.call("execConsole", { lab: "/pair", node: "r1", command: "help", timeout_ms: 200 }));
  expect(late.code).toBe("console_in_use");
  expect((await holding).code).toBe("console_timeout");
});

test("each target has its own outcome, in target order", async () => {
  const { ann } = await deployed(three);
  await ann.call("execProject", { lab: "/pair", action: "stop", node: "r2" });
  const { results } = await ann.call("execConsoleMany", {
    lab: "/pair",
    command: "hostname",
    targets: [{ node: "r3" }, { node: "nope" }, { node: "r2" }, { node: "r1", command: "echo own" }],
  });
  expect(results?.map(({ node, ok, code, output }) => [node, ok, code ?? output])).toEqual([
    ["r3", true, "r3"],
    ["nope", false, "node_not_found"],
    ["r2", false, "node_not_running"],
    ["r1", true, "own"],
  ]);
  const running = await ann.call("execConsoleMany", { lab: "/pair", command: "hostname" });
  expect(running.results?.map(({ output }) => output)).toEqual(["r1", "r3"]);
});

test("consoles are listed with their availability", async () => {
  const { made, ann } = await deployed();
  await ann.call("execProject", { lab: "/pair", action: "stop", node: "r2" });
  made.time.now += 10_000;
  const { consoles } = await ann.call("listProjectConsoles", { lab: "/pair" });
  expect(consoles?.map(({ node, status, available }) => [node, status, available])).toEqual([
    ["r1", "running", true],
    ["r2", "stopped", false],
  ]);
});

test("a dialogue types and waits", async () => {
  const { ann } = await deployed();
  const answer = await ann.call("runConsole", {
    lab: "/pair",
    node: "r1",
    steps: [
      { send: "", expect: "# " },
      { send: "echo topsecret", expect: { regex: "# $" }, secret: true },
    ],
  });
  expect(answer.steps.map(({ matched }) => matched)).toEqual([true, true]);
});

test("a ticket opens the stream once, for its session, for 30 seconds", async () => {
  const { made, ann } = await deployed();
  const bob = await made.login("bob");
  const ticket = async () => (await ann.call("attachConsole", { lab: "/pair", node: "r1" })).stream!;
  const code = async (client: Client, stream: string) => (await failureOf(client.get("streamConsole", { ticket: stream }))).code;
  const first = await ticket();
  expect(first).toMatch(/^[0-9a-f]{64}$/);
  const { far, seen } = await open(ann, first);
  await until(() => seen().includes("r1# "));
  far.write("echo live\r");
  await until(() => seen().includes("\r\nlive\r\n"));
  expect(await code(ann, first)).toBe("browser_token_invalid");
  expect(await code(bob, await ticket())).toBe("browser_token_invalid");
  expect(await code(ann, "zz")).toBe("browser_token_invalid");
  const old = await ticket();
  made.time.now += 30_000;
  expect(await code(ann, old)).toBe("browser_token_invalid");
  far.destroy();
});

test("viewers share a console, and a late one gets the scrollback first", async () => {
  const { ann } = await deployed();
  const ticket = async () => (await ann.call("attachConsole", { lab: "/pair", node: "r1" })).stream!;
  const first = await open(ann, await ticket());
  first.far.write("echo before\r");
  await until(() => first.seen().includes("\r\nbefore\r\n"));
  const second = await open(ann, await ticket());
  await until(() => second.seen().includes("\r\nbefore\r\n"));
  second.far.write("echo after\r");
  await until(() => first.seen().includes("\r\nafter\r\n") && second.seen().includes("\r\nafter\r\n"));
  expect((await ann.call("execConsole", { lab: "/pair", node: "r1", command: "hostname" })).output).toBe("r1");
  await until(() => first.seen().includes("hostname"));
  first.far.destroy();
  second.far.destroy();
});

test("logout and the node's stop end the stream", async () => {
  const { made, ann } = await deployed();
  const bench = await made.login();
  const one = await open(bench, (await bench.call("attachConsole", { lab: "/pair", node: "r1" })).stream!);
  await until(() => one.seen() !== "");
  await bench.get("logout");
  await until(() => one.far.destroyed || one.far.readableEnded);
  const two = await open(ann, (await ann.call("attachConsole", { lab: "/pair", node: "r1" })).stream!);
  await until(() => two.seen() !== "");
  await ann.call("execProject", { lab: "/pair", action: "stop", node: "r1" });
  await until(() => two.far.destroyed || two.far.readableEnded);
  expect(await failureOf(ann.call("attachConsole", { lab: "/pair", node: "r1" }))).toMatchObject({
    code: "node_not_running",
    message: "node r1 is stopped and its console is closed: start it first",
    data: { node: "r1", power: "stopped" },
  });
});

test("console output is readable as text, also after its node has stopped; a new start clears it", async () => {
  const { ann } = await deployed();
  const log = async (node: string) => (await ann.call("readConsoleLog", { lab: "/pair", node })).output;
  await ann.call("execConsole", { lab: "/pair", node: "r1", command: "echo last words" });
  expect(await log("r1")).toMatch(/\nlast words\nr1# /);
  expect(await log("r1")).not.toMatch(/[^\P{C}\n]/u);
  await ann.call("execProject", { lab: "/pair", action: "stop", node: "r1" });
  expect(await log("r1")).toContain("last words");
  await ann.call("execProject", { lab: "/pair", action: "start", node: "r1" });
  expect(await log("r1")).not.toContain("last words");
  expect((await failureOf(log("nobody"))).code).toBe("node_not_found");
});

test("a recreated lab has working consoles", async () => {
  const { ann } = await deployed();
  const old = await open(ann, (await ann.call("attachConsole", { lab: "/pair", node: "r1" })).stream!);
  await until(() => old.seen() !== "");
  await ann.call("destroyProject", { lab: "/pair" });
  await until(() => old.far.destroyed || old.far.readableEnded);
  await ann.call("deployProject", { yaml: pair });
  expect((await ann.call("execConsole", { lab: "/pair", node: "r1", command: "hostname" })).output).toBe("r1");
  await ann.call("deployProject", { yaml: pair, replace: true });
  expect((await ann.call("execConsole", { lab: "/pair", node: "r1", command: "hostname" })).output).toBe("r1");
});

test("missing and invalid fields are reported", async () => {
  const { made, ann } = await deployed();
  const code = async (body: object) => (await failureOf(ann.call("execConsole", { lab: "/pair", ...body }))).code;
  expect(await code({ node: "r1" })).toBe("bad_request");
  expect(await code({ command: "help" })).toBe("bad_request");
  expect(await code({ node: "nope", command: "help" })).toBe("node_not_found");
  expect(await code({ node: "r1", command: "x", dir: "/x" })).toBe("field_not_allowed");
  const [bob, eve] = [await made.login("bob"), await made.login("eve")];
  expect((await failureOf(bob.call("execConsole", { lab: "/pair", node: "r1", command: "help" }))).code).toBe("lab_not_found");
  expect((await failureOf(eve.call("execConsole", { yaml: pair, node: "r1", command: "help" }))).code).not.toBe("internal");
  expect(made.log.join()).not.toContain("help");
});
