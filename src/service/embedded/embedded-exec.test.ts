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

async function sleepers(node: string): Promise<string> {
  return outputOf(await run({ node, argv: ["sh", "-c", "ps -o args | grep '^sleep' || true"] })).toString();
}

test("a caller that does not read holds the program back after little output", async () => {
  const gone = new AbortController();
  // Counts what it could write.
  const script = "i=0; while :; do dd if=/dev/zero bs=128k count=8 2> /dev/null; i=$((i+1)); echo $i > /tmp/written; done";
  const events = (await post("execNodes", { yaml, node: "h3", argv: ["sh", "-c", script] }, gone.signal))[Symbol.asyncIterator]();
  await events.next();
  await events.next();
  const written = async () => Number(outputOf(await run({ node: "h3", argv: ["cat", "/tmp/written"] })));
  let before = -1;
  await until(async () => {
    await new Promise((settle) => setTimeout(settle, 200));
    const now = await written();
    const isHeld = now === before;
    before = now;
    return isHeld;
  });
  expect(before << 20).toBeLessThan(2 << 20);
  gone.abort();
  await events.return?.();
});

test("the stop of a node is reported by the program that ran in it", async () => {
  const events: NodeExecEvent[] = [];
  let stopped: Promise<unknown> | undefined;
  for await (const event of await post("execNodes", { yaml, node: "h2", argv: ["sh", "-c", "echo up; exec sleep 1234"] })) {
    events.push(event);
    if (event.type === "output") stopped ??= post("execProject", { yaml, action: "stop", node: "h2", stopmode: 1 });
  }
  expect(events.at(-1)).toMatchObject({ type: "end", signal: "SIGKILL", reason: "node_stopped" });
  // The program ends before the node: until then, another program may begin in it.
  await stopped;
  expect((await run({ node: "h2", argv: ["true"] })).at(-1)).toMatchObject({ type: "failed", code: "node_not_running" });
});

const sleep = (seconds: number) => ["sh", "-c", `exec sleep ${seconds}`];

test("a program ends when its caller leaves, and the programs of others go on", async () => {
  const reads: Promise<void>[] = [];
  const begin = (seconds: number, signal: AbortSignal) => {
    const read = async () => {
      for await (const _ of await post("execNodes", { yaml, node: "h1", argv: sleep(seconds) }, signal));
    };
    reads.push(read());
  };
  const [stays, leaves] = [new AbortController(), new AbortController()];
  begin(4321, stays.signal);
  begin(5432, leaves.signal);
  await until(async () => (await sleepers("h1")).split("\n").length === 3);
  leaves.abort();
  await until(async () => (await sleepers("h1")) === "sleep 4321\n");
  stays.abort();
  await Promise.allSettled(reads);
  await until(async () => (await sleepers("h1")) === "");
});

test("programs end with the service; the nodes run on, and the next service runs programs in them", async () => {
  const read = (async () => {
    for await (const _ of await post("execNodes", { yaml, node: "h3", argv: sleep(6543) }));
  })();
  await until(async () => (await sleepers("h3")) === "sleep 6543\n");
  await Promise.all([service.close(), Promise.allSettled([read])]);
  await started();
  await until(async () => (await sleepers("h3")) === "");
});
