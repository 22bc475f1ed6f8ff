import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestLocalHost, testLocalHost } from "../../hosts/local/testing/test-local-host.fixture.ts";
import { createService } from "../create-service.ts";
import type { Handlers, Service } from "../service.ts";
import { sqliteStore } from "../store/sqlite.ts";

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
  token = (await service.handlers.login({ body: { username: "admin", password: "test" }, query: undefined, params: undefined }, null, call))
    .token!;
});
afterAll(async () => {
  await service.close();
  await local[Symbol.asyncDispose]();
});

const wrong = `name: wrong
nodes:
  r1:
    template: frr
    start: false
    startup-config: |
      interface eth1
       ip adress 10.0.0.1/24
  r2: {template: frr, startup-config: r2.conf, start: false}
  r3: {template: frr, startup-config: r2.conf, start: false}
`;
const files = { "r2.conf": "hostname r2\nrotuer ospf\n" };
const inYaml = { severity: "warning", code: "config_line", line: 8, column: 11, hint: 'did you mean "address"?' };
const inFile = { severity: "warning", code: "config_line", file: "r2.conf", line: 2, column: 1, hint: 'did you mean "router"?' };

test("validate and plan warn of lines that FRR does not know, at their places in the YAML text and in files, once for each place", async () => {
  const { warnings } = await post("validateProject", { yaml: wrong, files });
  expect(warnings?.map(({ code }) => code).sort()).toEqual(["config_line", "config_line"]);
  expect(warnings).toEqual(expect.arrayContaining([expect.objectContaining(inYaml), expect.objectContaining(inFile)]));
  const plan = await post("planProject", { yaml: wrong, files });
  expect(plan.applicable).toBe(true);
  expect(plan.warnings).toMatchObject([inYaml, inFile]);
  expect(plan.text).toContain(
    '  ! line 8: startup-config of r1: FRR does not know this command here and leaves the line out; did you mean "address"?\n',
  );
  expect(plan.text).toContain("  ! r2.conf:2: startup-config of r2");
});

test("deploy applies the lines that FRR knows, and its answer names the others; a later change warns of changed configurations only", async () => {
  const deployed = await post("deployProject", { yaml: wrong, files });
  expect(deployed).toMatchObject({
    nodes: 3,
    warnings: [
      {
        code: "config_line",
        node: "r1",
        message: expect.stringMatching(/^the lab's file, line 8: startup-config of r1: .*; did you mean "address"\?$/),
      },
      { code: "config_line", node: "r2", message: expect.stringMatching(/^r2.conf, line 2: /) },
    ],
  });
  const changed = wrong.replace("interface eth1", "interface eth2");
  const { plan_identity, warnings } = await post("planProject", { yaml: changed, files });
  expect(warnings).toMatchObject([inYaml]);
  const applied = await post("reconcileProject", { yaml: changed, files, plan_identity, confirm: true });
  expect(applied).toMatchObject({ status: "applied", warnings: [{ code: "config_line", node: "r1" }] });
  await post("destroyProject", { lab: "/wrong" });
});
