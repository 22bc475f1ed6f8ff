import { afterAll, beforeAll, expect, test } from "vitest";
import type { NodeExecEvent } from "../../contract/schemas/processes.ts";
import { type TestLocalHost, testLocalHost } from "../../hosts/local/testing/test-local-host.fixture.ts";
import { createService } from "../create-service.ts";
import { until } from "../service.fixture.ts";
import type { Handlers, Service } from "../service.ts";
import { sqliteStore } from "../store/sqlite.ts";

const count = 100;
const names = Array.from({ length: count }, (_, i) => `h${i + 1}`);
const yaml = `name: many
nodes:
${names.map((name) => `  ${name}: {template: linux}`).join("\n")}
  r1: {template: frr}
  s1: {template: switch}
links:
  - ["r1:eth0", "h1:eth0"]
`;

let local: TestLocalHost;
let service: Service;
let token: string;

const quiet = { requestId: "test", signal: new AbortController().signal, address: "127.0.0.1", respondAsync: false };

function post<Id extends keyof Handlers>(id: Id, body: object, signal = quiet.signal): ReturnType<Handlers[Id]> {
  const handle = service.handlers[id] as unknown as (request: unknown, caller: unknown, with_: unknown) => ReturnType<Handlers[Id]>;
  return handle({ body, query: {}, params: {} }, service.authenticate(token), { ...quiet, signal });
}

async function started(): Promise<void> {
  service = createService({ host: local.host, store: sqliteStore(":memory:"), log: () => {}, version: "test" });
  const request = { body: { username: "admin", password: "test" }, query: undefined, params: undefined };
  token = (await service.handlers.login(request, null, quiet)).token!;
}

beforeAll(async () => {
  local = await testLocalHost();
  await started();
  await post("deployProject", { yaml });
  await until(async () => (await post("getProjectStatus", { yaml })).live?.nodes?.every(({ status }) => status === "running") === true);
});
afterAll(async () => {
  await service.close();
  await local[Symbol.asyncDispose]();
});

async function run(body: object): Promise<NodeExecEvent[]> {
  const events: NodeExecEvent[] = [];
  for await (const event of await post("execNodes", { yaml, ...body })) events.push(event);
  return events;
}

const outputOf = (events: readonly NodeExecEvent[], stream = "stdout") =>
  Buffer.concat(events.filter((one) => one.stream === stream).map(({ data = "" }) => Buffer.from(data, "base64")));

test("a hundred nodes and a router run a program in one call; a switch fails by itself", async () => {
  const events = await run({ argv: ["true"] });
  const ends = events.filter(({ type, exit_code }) => type === "end" && exit_code === 0).map(({ node }) => node);
  expect(ends.sort()).toEqual([...names, "r1"].sort());
  const switched = events.filter(({ node, type }) => node === "s1" && type === "failed");
  expect(switched.map(({ code }) => code)).toEqual(events[0]!.nodes!.includes("s1") ? ["unsupported"] : []);
});

test("a router runs programs of its system beside its command line", async () => {
  const link = await run({ node: "r1", argv: ["ip", "-br", "link", "show", "eth0"] });
  expect(outputOf(link).toString()).toMatch(/^eth0/);
  expect(outputOf(await run({ node: "r1", argv: ["vtysh", "-c", "show version"] })).toString()).toContain("FRRouting");
});

test("ten megabytes of binary output arrive, and stop at the limit", async () => {
  const argv = ["sh", "-c", "head -c 10485760 /dev/zero | tr '\\0' '\\377'"];
  const whole = outputOf(await run({ node: "h1", argv }));
  expect([whole.length, whole.every((byte) => byte === 255)]).toEqual([10 << 20, true]);
  const cut = await run({ node: "h1", argv, max_output_bytes: 1_000_000 });
  expect(outputOf(cut).length).toBe(1_000_000);
  expect(cut.at(-1)).toMatchObject({ type: "end", signal: "SIGKILL", reason: "output_limit" });
});

async function sleepers(): Promise<string> {
  return outputOf(await run({ node: "h1", argv: ["sh", "-c", "ps -o args | grep '^sleep' || true"] })).toString();
}

test("the stop of a node is reported by the program that ran in it", async () => {
  const events: NodeExecEvent[] = [];
  for await (const event of await post("execNodes", { yaml, node: "h2", argv: ["sh", "-c", "echo up; exec sleep 1234"] })) {
    events.push(event);
    if (event.type === "output") void post("execProject", { yaml, action: "stop", node: "h2", stopmode: 1 });
  }
  expect(events.at(-1)).toMatchObject({ type: "end", signal: "SIGKILL", reason: "node_stopped" });
  expect((await run({ node: "h2", argv: ["true"] })).at(-1)).toMatchObject({ type: "failed", code: "node_not_running" });
});

test("programs end with the service; the nodes and a new service go on", async () => {
  const events = await post("execNodes", { yaml, node: "h1", argv: ["sh", "-c", "echo up; sleep 4321"] });
  const reader = (async () => {
    for await (const event of events) if (event.type === "output") return;
  })();
  await reader;
  const left = new AbortController();
  const other = await post("execNodes", { yaml, node: "h1", argv: ["sh", "-c", "echo up; sleep 5432"] }, left.signal);
  await until(async () => (await sleepers()) === "sleep 5432\n");
  left.abort();
  for await (const _ of other);
  await until(async () => (await sleepers()) === "");
});
