import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestLocalHost, testLocalHost } from "../../hosts/local/testing/test-local-host.fixture.ts";
import { createService } from "../create-service.ts";
import { until } from "../service.fixture.ts";
import type { Handlers, Service } from "../service.ts";
import { sqliteStore } from "../store/sqlite.ts";

/** Two hosts; one runs a program that ignores the request to stop. */
const yaml = (env = "") => `name: stubborn
nodes:
  h1:
    template: linux
    exec: ["trap '' TERM HUP; sleep 1000 > /dev/null 2>&1 &"]
    ${env}
  h2: {template: linux}
`;

let local: TestLocalHost;
let service: Service;
let token: string;
const call = { requestId: "test", signal: new AbortController().signal, address: "127.0.0.1", respondAsync: false };
const warnings = [{ code: "stop_forced", node: "h1", message: "h1 did not end within 0.3 s and was switched off" }];

function post<Id extends keyof Handlers>(id: Id, body: object, params: object = {}): ReturnType<Handlers[Id]> {
  const handle = service.handlers[id] as unknown as (request: unknown, caller: unknown, with_: unknown) => ReturnType<Handlers[Id]>;
  return handle({ body, query: {}, params }, service.authenticate(token), call);
}

async function running(): Promise<void> {
  await until(
    async () => (await post("getProjectStatus", { yaml: yaml() })).live?.nodes?.every(({ status }) => status === "running") === true,
  );
}

beforeAll(async () => {
  // h2 is not checked: on a busy machine its stop might take longer.
  local = await testLocalHost({ stopGrace: { graceful: 300, node: 300 } });
  service = createService({ host: local.host, store: sqliteStore(":memory:"), log: () => {}, version: "test" });
  const request = { body: { username: "admin", password: "test" }, query: undefined, params: undefined };
  token = (await service.handlers.login(request, null, call)).token!;
  await post("deployProject", { yaml: yaml() });
  await running();
});
afterAll(async () => {
  await service.close();
  await local[Symbol.asyncDispose]();
});

test.each([0, 3])("a forced stop in mode %i is reported in its answer, its job and the status", async (stopmode) => {
  const answer = await post("execProject", { yaml: yaml(), action: "stop", node: "h1", stopmode });
  expect(answer).toMatchObject({ requested: 1, stopped: 1, failed: 0, warnings });
  const [job] = (await post("listJobs", {})).jobs;
  expect(await post("getJob", {}, { id: job?.job })).toMatchObject({ operation: "execProject", status: "done", result: { warnings } });
  const { live } = await post("getProjectStatus", { yaml: yaml() });
  expect(live?.nodes?.map(({ node, status, forced }) => [node, status, forced])).toEqual([
    ["h1", "stopped", true],
    ["h2", "running", undefined],
  ]);
  expect(await post("execProject", { yaml: yaml(), action: "start", node: "h1" })).not.toHaveProperty("warnings");
  await running();
  expect((await post("getProjectStatus", { yaml: yaml() })).live?.nodes?.[0]).not.toHaveProperty("forced");
});

test("a requested poweroff returns no warning", async () => {
  expect(await post("execProject", { yaml: yaml(), action: "stop", node: "h1", stopmode: 1 })).not.toHaveProperty("warnings");
  expect((await post("getProjectStatus", { yaml: yaml() })).live?.nodes?.[0]).not.toHaveProperty("forced");
  await post("execProject", { yaml: yaml(), action: "start", node: "h1" });
  await running();
});

test("a reconcile that restarts nodes warns of those that had to be switched off", async () => {
  const changed = yaml("env: {A: b}");
  const { plan_identity } = await post("planProject", { yaml: changed });
  const answer = await post("reconcileProject", { yaml: changed, plan_identity, confirm: true });
  expect(answer).toMatchObject({ status: "applied", warnings });
});
