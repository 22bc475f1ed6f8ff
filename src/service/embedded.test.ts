import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestLocalHost, testLocalHost } from "../hosts/local/test-local-host.ts";
import { createService } from "./create-service.ts";
import { until } from "./service.fixture.ts";
import type { Handlers, Service } from "./service.ts";
import { sqliteStore } from "./store/sqlite.ts";

const yaml = `name: real
nodes:
  h1: {template: linux}
  p1: {template: pc}
  r1: {template: frr}
links:
  - ["r1:eth0", "h1:eth0"]
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

test("commands run in FRR's own shell, through its configuration modes and back", async () => {
  expect(await typed("r1", "show version")).toMatch(/^FRRouting/);
  expect(await typed("r1", "configure terminal")).toBe("");
  expect(await typed("r1", "interface eth0\nip address 10.0.0.1/24\nend")).toBe("");
  expect(await typed("r1", "show running-config")).toContain("ip address 10.0.0.1/24");
  expect(await typed("r1", "bogus")).toBe("% Unknown command: bogus");
  expect((await typed("r1", "list")).split("\n").length).toBeGreaterThan(100);
});

test("commands run in a busybox shell, and what does not end is interrupted", async () => {
  expect(await typed("h1", "seq 1 3000")).toBe(Array.from({ length: 3000 }, (_, index) => index + 1).join("\n"));
  const endless = post("execConsole", { lab: "/real", node: "h1", command: "echo begin; sleep 100", timeout_ms: 1500 });
  await expect(endless).rejects.toMatchObject({ code: "console_timeout", data: { output: "begin\n" } });
  expect(await typed("h1", "echo still here")).toBe("still here");
});

test("commands run at a small host's prompt", async () => {
  expect(await typed("p1", "help")).toContain("ping HOST");
});
