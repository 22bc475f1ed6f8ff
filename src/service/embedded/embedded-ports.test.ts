import { once } from "node:events";
import { createServer } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../hosts/local/testing/free-port.fixture.ts";
import { eventually, type TestLocalHost, testLocalHost } from "../../hosts/local/testing/test-local-host.fixture.ts";
import { createService } from "../create-service.ts";
import type { Handlers, Service } from "../service.ts";
import { sqliteStore } from "../store/sqlite.ts";

/** Ports that a lab cannot publish, and paths of the machine that its nodes cannot get, are in its plan and in its validation. */

let local: TestLocalHost;
let service: Service;
let token: string;
const quiet = { requestId: "test", signal: new AbortController().signal, address: "127.0.0.1", respondAsync: false };

function post<Id extends keyof Handlers>(id: Id, body: object): ReturnType<Handlers[Id]> {
  const handle = service.handlers[id] as unknown as (request: unknown, caller: unknown, with_: unknown) => ReturnType<Handlers[Id]>;
  return handle({ body, query: {}, params: {} }, service.authenticate(token), quiet);
}

async function login(username: string): Promise<void> {
  const request = { body: { username, password: "test" }, query: undefined, params: undefined };
  token = (await service.handlers.login(request, null, quiet)).token!;
}

beforeAll(async () => {
  local = await testLocalHost({ bindAllow: ["/srv"] });
  service = createService({ host: local.host, store: sqliteStore(":memory:"), log: () => {}, version: "test" });
  await login("admin");
});
afterAll(async () => {
  await service.close();
  await local[Symbol.asyncDispose]();
});

const yaml = (ports: readonly string[]) => `name: ports
nodes:
  web:
    template: linux
    ports: ${JSON.stringify(ports)}
`;

test("a port of another program is a warning of validate and plan with its place; the lab's own port is not", async () => {
  const [free, taken] = [await freePort(), await freePort()];
  const other = createServer().listen(taken, "127.0.0.1");
  await once(other, "listening");
  const text = yaml([`${free}:80`, `${taken}:81`, "198.51.100.7:8080:82"]);
  const problems = [
    { code: "port_unavailable", line: 5, message: expect.stringContaining("because the machine has no such address") },
    {
      severity: "warning",
      code: "port_unavailable",
      line: 5,
      message: `port ${taken} of 127.0.0.1, which node web publishes (${taken}:81) is used by another program`,
      hint: "choose another port; ss -ltnp shows which program listens",
    },
  ];
  expect((await post("validateProject", { yaml: text })).warnings).toMatchObject(problems);
  const plan = await post("planProject", { yaml: text });
  expect(plan).toMatchObject({ warnings: problems, text: expect.stringContaining(`port ${taken} of 127.0.0.1`) });
  other.close();
  const own = yaml([`${free}:80`]);
  await post("deployProject", { yaml: own });
  await eventually(
    "the port is open",
    30_000,
    async () => (await post("getProjectStatus", { yaml: own })).live?.nodes?.[0]?.status,
    (status) => status === "running",
  );
  expect((await post("validateProject", { yaml: own })).warnings).toEqual([]);
  // Another lab would not get it.
  const second = own.replace("name: ports", "name: second");
  expect((await post("validateProject", { yaml: second })).warnings).toMatchObject([
    { message: expect.stringContaining("is used by another lab") },
  ]);
});

test("a path of the machine that a node would not get is a warning of validate and plan with its place", async () => {
  const text = 'name: bound\nnodes:\n  h1:\n    template: linux\n    binds: ["/srv/absent:/a"]\n';
  const problems = [
    {
      severity: "warning",
      code: "bind_unavailable",
      line: 5,
      message: "node h1: bind /srv/absent:/a: /srv/absent cannot be read on the machine (ENOENT): create it, or correct the path",
    },
  ];
  expect((await post("validateProject", { yaml: text })).warnings).toMatchObject(problems);
  expect(await post("planProject", { yaml: text })).toMatchObject({
    warnings: problems,
    text: expect.stringContaining("/srv/absent cannot be read"),
  });
});
