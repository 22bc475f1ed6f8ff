import { afterAll, beforeAll, expect, test } from "vitest";
import type { TestData } from "../../contract/schemas/tests.ts";
import { type TestLocalHost, testLocalHost } from "../../hosts/local/testing/test-local-host.fixture.ts";
import { createService } from "../create-service.ts";
import { until } from "../service.fixture.ts";
import type { Handlers, Service } from "../service.ts";
import { sqliteStore } from "../store/sqlite.ts";

const yaml = `name: tested
nodes:
  h1: {template: linux, exec: [ip addr add 10.0.1.2/24 dev eth1, ip route add default via 10.0.1.1]}
  h2: {template: linux, exec: [ip addr add 10.0.2.2/24 dev eth1, ip route add default via 10.0.2.1, httpd -h /etc]}
  r1:
    template: frr
    startup-config: |
      interface eth1
       ip address 10.0.1.1/24
      interface eth2
       ip address 10.0.2.1/24
      ip route 10.9.0.0/16 10.0.2.2
  off: {template: linux, start: false}
  sw: {template: switch}
links: [["h1:eth1", "r1:eth1"], ["h2:eth1", "r1:eth2"]]
tests:
  - {name: ping, from: h1, ping: 10.0.2.2, within: 30}
  - {name: web, from: [h1, r1], http: {url: "http://10.0.2.2/hosts", contains: localhost}, within: 30}
  - {name: port, from: h1, port: "10.0.2.2:80", within: 30}
  - {name: closed, from: h1, port: "10.0.2.2:81", expect: fail, within: 3}
  - {name: version, from: r1, command: {run: vtysh -c 'show version', contains: FRRouting}}
  - {name: route, from: r1, route: {to: 10.9.0.0/16, via: 10.0.2.2, interface: eth2}, within: 30}
  - {name: path, from: h1, path: {to: 10.0.2.2, hops: [10.0.1.1, 10.0.2.2]}, within: 30}
  - {name: config, from: r1, config: ip route 10.9.0.0/16 10.0.2.2}
  - {name: fails, from: h1, command: {run: echo why >&2; exit 4}, within: 0}
  - {name: stopped, from: off, command: "true", within: 0}
  - {name: no process, from: sw, command: "true", within: 0}
  - {name: unplugged, from: h1, ping: 10.0.2.2, expect: fail, within: 3, given: {suspend: "r1:eth2"}}
  - {name: powered off, from: h1, ping: 10.0.2.2, expect: fail, within: 3, given: {stop: h2}}
`;

let local: TestLocalHost;
let service: Service;
let token: string;
const call = { requestId: "test", signal: new AbortController().signal, address: "127.0.0.1", respondAsync: false };

function post<Id extends keyof Handlers>(id: Id, body: object, how: object = {}): ReturnType<Handlers[Id]> {
  const handle = service.handlers[id] as unknown as (request: unknown, caller: unknown, with_: unknown) => ReturnType<Handlers[Id]>;
  return handle({ body, query: {}, params: {} }, service.authenticate(token), { ...call, ...how });
}

const live = async () => (await post("getProjectStatus", { lab: "/tested" })).live?.nodes ?? [];
const suspendedLinks = async () =>
  ((await post("inspectProject", { lab: "/tested", refresh: true })).links ?? []).filter((link) => link.suspended).length;

beforeAll(async () => {
  local = await testLocalHost();
  service = createService({ host: local.host, store: sqliteStore(":memory:"), log: () => {}, version: "test" });
  token = (await service.handlers.login({ body: { username: "admin", password: "test" }, query: undefined, params: undefined }, null, call))
    .token!;
  await post("deployProject", { yaml });
  await until(async () => (await live()).filter(({ status }) => status === "running").length >= 4);
});
afterAll(async () => {
  await service.close();
  await local[Symbol.asyncDispose]();
});

test("every kind of check runs in its nodes, and what tests pulled or stopped is back afterwards", async () => {
  const { tests, passed, failed, errors } = (await post("testProject", { lab: "/tested" })) as TestData;
  const outcomes = Object.fromEntries(
    tests.map(({ name, node, outcome, message }) => [`${name} ${node}`, outcome === "passed" ? outcome : message]),
  );
  expect(outcomes).toEqual({
    "ping h1": "passed",
    "web h1": "passed",
    "web r1": "passed",
    "port h1": "passed",
    "closed h1": "passed",
    "version r1": "passed",
    "route r1": "passed",
    "path h1": "passed",
    "config r1": "passed",
    "fails h1": "exit code 4, not 0: why",
    "stopped off": expect.stringContaining("off"),
    "no process sw": expect.stringContaining("sw runs no program"),
    "unplugged h1": "passed",
    "powered off h1": "passed",
  });
  expect([passed, failed, errors]).toEqual([11, 1, 2]);
  expect(await suspendedLinks()).toBe(0);
  expect((await live()).find(({ node }) => node === "h2")?.status).toBe("running");
});

test("tests are chosen by name; an unknown name is refused with the nearest name, or with all", async () => {
  const { tests } = (await post("testProject", { lab: "/tested", tests: ["port", "ping"] })) as TestData;
  expect(tests.map(({ name }) => name)).toEqual(["ping", "port"]);
  await expect(async () => post("testProject", { lab: "/tested", tests: ["ping", "pong"] })).rejects.toMatchObject({
    code: "bad_request",
    message: 'the intent has no test "pong"; did you mean "ping"?',
    data: { problems: [{ path: "/tests/1" }] },
  });
  await expect(async () => post("testProject", { lab: "/tested", tests: ["something else"] })).rejects.toMatchObject({
    message: expect.stringMatching(/^the intent has no test "something else": it has "ping", "web", /),
  });
});

test("tests that are cancelled end at once, and the pulled cable is back", async () => {
  const endless = `${yaml.slice(0, yaml.indexOf("tests:"))}tests: [{from: h1, ping: 10.0.2.2, within: 600, given: {suspend: "r1:eth2"}}]\n`;
  const { job } = (await post("testProject", { yaml: endless }, { respondAsync: true })) as { job: string };
  await until(async () => (await suspendedLinks()) === 1);
  await service.handlers.cancelJob(
    { params: { id: job }, body: undefined, query: undefined } as never,
    service.authenticate(token),
    call as never,
  );
  await until(async () => (await suspendedLinks()) === 0);
  await until(
    async () =>
      ((await post("listJobs", {})) as { jobs: readonly { job: string; status: string }[] }).jobs.find((one) => one.job === job)?.status ===
      "cancelled",
  );
});
