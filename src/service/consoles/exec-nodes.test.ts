import { afterEach, expect, test } from "vitest";
import type { NodeExecEvent } from "../../contract/schemas/processes.ts";
import { type Bench, type Client, createBench, failureOf, pair } from "../service.fixture.ts";

const benches: Bench[] = [];
afterEach(async () => {
  for (const { service, host } of benches.splice(0)) {
    await service.close();
    await host.close();
  }
});

async function deployed(): Promise<{ readonly made: Bench; readonly ann: Client }> {
  const made = createBench();
  benches.push(made);
  const ann = await made.login();
  await ann.call("deployProject", { yaml: pair });
  return { made, ann };
}

async function run(client: Client, body: object): Promise<NodeExecEvent[]> {
  const events: NodeExecEvent[] = [];
  for await (const event of await client.call("execNodes", { lab: "/pair", ...body } as never)) events.push(event);
  return events;
}

const outputOf = (events: readonly NodeExecEvent[], node: string, stream = "stdout") =>
  Buffer.concat(
    events.filter((one) => one.node === node && one.stream === stream).map(({ data = "" }) => Buffer.from(data, "base64")),
  ).toString();

test("a program runs in the named nodes, or in all running nodes, each with its own end", async () => {
  const { ann } = await deployed();
  const one = await run(ann, { node: "r1", argv: ["hostname"] });
  expect(one.map(({ type }) => type)).toEqual(["begin", "output", "end"]);
  expect(outputOf(one, "r1")).toBe("r1\n");
  expect(one.at(-1)).toMatchObject({ type: "end", node: "r1", exit_code: 0, duration_ms: expect.any(Number) });
  const [begin, ...all] = await run(ann, { argv: ["exit", "4"] });
  expect(begin).toMatchObject({ type: "begin", nodes: expect.arrayContaining(["r1"]) });
  expect(begin!.nodes!.length).toBeGreaterThan(1);
  expect(all.filter(({ type }) => type === "end").every(({ exit_code }) => exit_code === 4)).toBe(true);
  const missing = await run(ann, { nodes: ["r*"], argv: ["no-such"] });
  expect(outputOf(missing, "r1", "stderr")).toContain("no-such");
  expect(missing.at(-1)).toMatchObject({ exit_code: 127 });
});

test("input, environment and work directory reach the program, and no log", async () => {
  const { made, ann } = await deployed();
  expect(outputOf(await run(ann, { node: "r1", argv: ["cat"], stdin: "secret-input" }), "r1")).toBe("secret-input");
  const bytes = Buffer.from([0, 255, 10]).toString("base64");
  const [, output] = await run(ann, { node: "r1", argv: ["cat"], stdin_base64: bytes });
  expect(output).toMatchObject({ type: "output", data: bytes });
  expect(outputOf(await run(ann, { node: "r1", argv: ["env", "KEY"], env: { KEY: "secret-env" } }), "r1")).toBe("secret-env\n");
  expect(outputOf(await run(ann, { node: "r1", argv: ["pwd"], cwd: "/etc" }), "r1")).toBe("/etc\n");
  const kept = JSON.stringify([made.log, await ann.get("listJobs"), made.store.labs.get("/pair")]);
  expect(kept).not.toContain("secret-");
});

test("the time limit and the output limit end the program, and are reported", async () => {
  const { ann } = await deployed();
  expect((await run(ann, { node: "r1", argv: ["sleep", "60"], timeout_ms: 50 })).at(-1)).toMatchObject({
    signal: "SIGKILL",
    reason: "timeout",
  });
  const cut = await run(ann, { node: "r1", argv: ["echo", "hello"], max_output_bytes: 4 });
  expect([outputOf(cut, "r1"), cut.at(-1)]).toEqual(["hell", expect.objectContaining({ reason: "output_limit" })]);
  const exact = await run(ann, { node: "r1", argv: ["echo", "hello"], max_output_bytes: 6 });
  expect(exact.at(-1)).toMatchObject({ exit_code: 0 });
});

test("a failure stays on its node", async () => {
  const { ann } = await deployed();
  await ann.call("execProject", { lab: "/pair", action: "stop", node: "r1" });
  const all = await run(ann, { nodes: ["*"], argv: ["true"] });
  expect(all.find(({ node, type }) => node === "r1" && type !== "output")).toMatchObject({ type: "failed", code: "node_not_running" });
  expect(all.filter(({ type }) => type === "end").length).toBeGreaterThan(0);
});

test("the caller's end ends the programs", async () => {
  const { ann } = await deployed();
  const gone = new AbortController();
  const events = await ann.call("execNodes", { lab: "/pair", node: "r1", argv: ["sleep", "1000"] }, { signal: gone.signal });
  const seen: string[] = [];
  for await (const { type } of events) {
    seen.push(type);
    gone.abort();
  }
  expect(seen).toEqual(["begin"]);
});

test("a user has a limited number of calls, and others are not affected", async () => {
  const { made, ann } = await deployed();
  const gone = new AbortController();
  const call = () => ann.call("execNodes", { lab: "/pair", node: "r1", argv: ["sleep", "1000"] }, { signal: gone.signal });
  const running = await Promise.all(Array.from({ length: 64 }, call));
  expect((await failureOf(call())).code).toBe("rate_limited");
  const admin = await made.login("admin");
  expect((await run(admin, { node: "r1", argv: ["true"] })).at(-1)).toMatchObject({ exit_code: 0 });
  gone.abort();
  for (const events of running) for await (const _ of events);
  expect((await run(ann, { node: "r1", argv: ["true"] })).at(-1)).toMatchObject({ exit_code: 0 });
});

test("wrong requests and callers without the right are refused before anything runs", async () => {
  const { made, ann } = await deployed();
  const code = async (body: object) => (await failureOf(run(ann, body))).code;
  expect(await code({ node: "nope", argv: ["true"] })).toBe("node_not_found");
  expect(await code({ node: "r1", argv: [""] })).toBe("bad_request");
  expect(await code({ node: "r1", argv: ["a\0b"] })).toBe("bad_request");
  expect(await code({ node: "r1", argv: ["true"], env: { "A=B": "x" } })).toBe("bad_request");
  expect(await code({ node: "r1", argv: ["true"], stdin: "a", stdin_base64: "YQ==" })).toBe("bad_request");
  expect(await code({ node: "r1", argv: ["true"], stdin_base64: "no base64!" })).toBe("bad_request");
  const [bob, eve] = [await made.login("bob"), await made.login("eve")];
  expect((await failureOf(run(bob, { argv: ["true"] }))).code).toBe("lab_not_found");
  await ann.call("setLabGrants", { lab: "/pair", grants: [{ user: "bob", right: "view" }] });
  expect((await failureOf(run(bob, { argv: ["true"] }))).code).toBe("operation_not_allowed");
  await ann.call("setLabGrants", { lab: "/pair", grants: [{ user: "bob", right: "operate" }] });
  expect((await run(bob, { node: "r1", argv: ["true"] })).at(-1)).toMatchObject({ exit_code: 0 });
  expect(["lab_not_found", "operation_not_allowed"]).toContain((await failureOf(run(eve, { argv: ["true"] }))).code);
});
