import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestLocalHost, testLocalHost } from "../../hosts/local/testing/test-local-host.fixture.ts";
import { runProgram } from "../conditions/run-program.ts";
import { createService } from "../create-service.ts";
import { until } from "../service.fixture.ts";
import type { Handlers, Service } from "../service.ts";
import { sqliteStore } from "../store/sqlite.ts";

/** Conditions of `ready` and the order of `depends-on`, on real nodes. */

let local: TestLocalHost;
let service: Service;
let token: string;
const call = { requestId: "test", signal: new AbortController().signal, address: "127.0.0.1", respondAsync: false };

function post<Id extends keyof Handlers>(id: Id, body: object): ReturnType<Handlers[Id]> {
  const handle = service.handlers[id] as unknown as (request: unknown, caller: unknown, with_: unknown) => ReturnType<Handlers[Id]>;
  return handle({ body, query: {}, params: {} }, service.authenticate(token), call);
}

beforeAll(async () => {
  local = await testLocalHost();
  service = createService({ host: local.host, store: sqliteStore(":memory:"), log: () => {}, version: "test" });
  const login = await service.handlers.login(
    { body: { username: "admin", password: "test" }, query: undefined, params: undefined },
    null,
    call,
  );
  token = login.token!;
});
afterAll(async () => {
  await service.close();
  await local[Symbol.asyncDispose]();
});

const rows = async (lab: string) => new Map((await post("getProjectStatus", { lab })).live?.nodes?.map((row) => [row.unique_key, row]));

const ordered = `name: ordered
nodes:
  dns:
    template: linux
    exec: ["(sleep 1; touch /run/up) > /dev/null 2>&1 &"]
    ready: [{command: test -e /run/up}]
  web: {template: linux, depends-on: {dns: ready}, exec: [date +%s%N > /run/began]}
  client: {template: linux, depends-on: [web], ready: {route: 10.9.0.0/16}}
  other: {template: linux}
`;

test("a node starts when the nodes that it depends on are ready, and its status names the condition that is missing", async () => {
  await post("deployProject", { yaml: ordered });
  const began = async (node: string) => (await rows("/ordered")).get(node)?.uptime_ms ?? 0;
  await until(async () => (await rows("/ordered")).get("client")?.status === "running");
  // dns was ready after a second at the earliest.
  expect((await began("other")) - (await began("web"))).toBeGreaterThan(900);
  expect(await began("web")).toBeGreaterThanOrEqual(await began("client"));
  await until(async () => (await rows("/ordered")).get("client")?.not_ready === "no route to 10.9.0.0/16");
  const now = await rows("/ordered");
  expect(now.get("client")).toMatchObject({ status: "running", ready: false });
  expect(now.get("dns")).toMatchObject({ status: "running", ready: true });
  expect(now.get("other")?.ready).toBeUndefined();
});

test("a condition that has passed makes the node ready until its next start", async () => {
  const host = await local.host.login("admin", "test");
  const nodeId = (await rows("/ordered")).get("client")!.id;
  const program = { argv: ["ip", "route", "add", "blackhole", "10.9.0.0/16"], timeoutMs: 5000 };
  expect(await runProgram(host.processes!, { lab: "/ordered", nodeId }, program, call.signal)).toMatchObject({ code: 0 });
  await until(async () => (await rows("/ordered")).get("client")?.ready === true);
  await post("execProject", { lab: "/ordered", action: "stop", nodes: ["client"] });
  await post("execProject", { lab: "/ordered", action: "start", nodes: ["client"] });
  await until(async () => (await rows("/ordered")).get("client")?.not_ready === "no route to 10.9.0.0/16");
});

const broken = `name: broken
nodes:
  bad: {template: linux, exec: [exit 3]}
  off: {template: linux, start: false}
  a: {template: linux, depends-on: [bad]}
  b: {template: linux, depends-on: [a]}
  c: {template: linux, depends-on: [off]}
  good: {template: linux}
`;

test("nodes that depend on a failed or stopped node are not started: the error names both, the others run, and the next apply starts them", async () => {
  const failure = await post("deployProject", { yaml: broken }).then(
    () => undefined,
    (error: { readonly code: string; readonly message: string; readonly data: object }) => error,
  );
  expect(failure).toMatchObject({ code: "host_error" });
  expect(failure?.message).toContain("a was not started: bad, which it depends on, is failed");
  expect(failure?.message).toContain("c was not started: off, which it depends on, is stopped");
  expect(failure?.message).toContain("b was not started: a, which it depends on");
  const now = await rows("/broken");
  expect(["bad", "a", "b", "c", "good"].map((key) => now.get(key)?.status)).toEqual(["failed", "stopped", "stopped", "stopped", "running"]);
  const yaml = broken.replace("exit 3", "echo fixed").replace("c: {template: linux, depends-on: [off]}", "c: {template: linux}");
  const { plan_identity } = await post("planProject", { yaml });
  await post("reconcileProject", { yaml, plan_identity, confirm: true });
  await until(async () => [...(await rows("/broken")).values()].filter(({ status }) => status === "running").length === 5);
});

test("nodes that wait for each other are an error at their place, and containerlab's stages are read as depends-on", async () => {
  const circle =
    "name: x\nnodes:\n  a: {template: linux, depends-on: [b]}\n  b: {template: linux, depends-on: {c: ready}}\n  c: {template: linux, depends-on: a}\n";
  await expect(post("validateProject", { yaml: circle })).rejects.toMatchObject({
    data: { diagnostics: [{ code: "dependency_cycle", line: 3, message: "nodes wait for each other: a → b → c → a" }] },
  });
  const clab = `name: x
topology:
  nodes:
    a: {kind: linux, stages: {create: {wait-for: [{node: b, stage: a}]}, configure: {wait-for: [{node: b, stage: healthy}]}}}
    b: {kind: linux, stages: {create: {wait-for: [{node: a}]}}}
`;
  await expect(post("validateProject", { yaml: clab })).rejects.toMatchObject({ data: { diagnostics: [{ code: "dependency_cycle" }] } });
});

const deadlock = `name: deadlock
nodes:
  r1: {template: linux, ready: {route: 10.9.0.0/16}}
  r2: {template: linux}
  h1: {template: linux, depends-on: {r1: ready}}
  h2: {template: linux, depends-on: {h1: running}}
links: [["r1:eth0", "h1:eth0"], ["r2:eth0", "h2:eth0"], ["r1:eth1", "r2:eth1"]]
`;

test("while a start waits, its job names the node and the condition", async () => {
  const handle = service.handlers.deployProject as unknown as (
    request: unknown,
    caller: unknown,
    with_: unknown,
  ) => Promise<{ readonly job: string }>;
  const asked = { body: { yaml: deadlock }, query: {}, params: {} };
  const { job } = await handle(asked, service.authenticate(token), { ...call, respondAsync: true });
  const state = () =>
    service.handlers.getJob({ body: undefined, query: {}, params: { id: job } } as never, service.authenticate(token), call as never);
  await until(async () => (await state()).waiting === "h1 waits for r1: no route to 10.9.0.0/16; 1 more start waits");
  await service.handlers.cancelJob({ body: {}, query: {}, params: { id: job } } as never, service.authenticate(token), call as never);
  await until(async () => (await state()).status === "cancelled");
  expect((await state()).waiting).toBeUndefined();
});
