import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operations } from "../../src/contract/operations.ts";
import type { Operation } from "../../src/engine/model/plan.ts";
import { eveFixture } from "../../src/hosts/eve/eve-host.fixture.ts";
import type { Host } from "../../src/hosts/host.ts";
import { testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import type { RawClient } from "./raw-client.ts";
import { type Served, serve, users } from "./served.ts";

const lab = "/locked";

interface Bench {
  readonly host: Host;
  readonly credentials: readonly [user: string, password: string];
  readonly template: string;
  readonly close: () => Promise<void>;
}

const benches: Readonly<Record<string, () => Promise<Bench>>> = {
  memory: async () => ({ host: memoryHost({ users }), credentials: ["ann", "ann-password"], template: "linux", close: async () => {} }),
  "EVE-NG": async () => {
    const eve = await eveFixture();
    return { host: eve.host, credentials: ["admin", "eve"], template: "vpcs", close: async () => eve[Symbol.asyncDispose]() };
  },
  embedded: async () => {
    const local = await testLocalHost();
    return { host: local.host, credentials: ["admin", "test"], template: "linux", close: async () => local[Symbol.asyncDispose]() };
  },
};

const isRoot = process.getuid?.() === 0;
describe.each(Object.keys(benches).filter((name) => isRoot || name !== "embedded"))("a lock on the %s host", (name) => {
  let bench: Bench;
  let served: Served;
  let client: RawClient;

  const yamlOf = (more: string) => `name: locked\nnodes:\n  h1: {template: ${bench.template}, start: false}\n${more}`;
  const lock = (locked: unknown) => client.call("PUT", operations.setLabLock.path, { body: JSON.stringify({ lab, locked }) });

  beforeAll(async () => {
    bench = await benches[name]!();
    served = await serve({ host: bench.host });
    client = await served.signIn(...bench.credentials);
    expect((await client.post(operations.deployProject.path, { yaml: yamlOf("") })).json).toMatchObject({ ok: true });
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await bench?.close();
  });

  test("refuses every change with a way out, until it is cleared; reads go on", async () => {
    const grown = yamlOf(`  h2: {template: ${bench.template}, start: false}\n`);
    for (const again of [1, 2]) {
      const { status, json } = await lock(true);
      expect([again, status, json]).toEqual([again, 200, { ok: true, data: { lab, locked: true } }]);
    }
    expect((await client.post(operations.getProjectStatus.path, { lab })).json.data.locked).toBe(true);
    expect((await client.post(operations.inspectProject.path, { lab })).json.data).toMatchObject({ locked: true, lock: 1 });
    expect((await client.post(operations.planProject.path, { yaml: grown })).json.data).toMatchObject({ locked: true, applicable: false });
    for (const [id, body] of [
      ["reconcileProject", { yaml: grown }],
      ["deployProject", { yaml: grown, replace: true }],
      ["execProject", { lab, action: "start" }],
      ["destroyProject", { lab }],
    ] as const) {
      const { status, json } = await client.post(operations[id].path, body);
      expect([id, status, json.code, json.error]).toEqual([id, 423, "lab_locked", expect.stringContaining("labwright unlock")]);
    }
    expect((await lock(false)).json.data).toEqual({ lab, locked: false });
    expect((await client.post(operations.reconcileProject.path, { yaml: grown })).json.data).toMatchObject({ status: "applied" });
    expect((await client.post(operations.getProjectStatus.path, { lab })).json.data.locked).toBe(false);
  });

  test("needs a lab that is there, and a word of true or false", async () => {
    expect((await lock("yes")).json.code).toBe("bad_request");
    expect((await lock(undefined)).json.code).toBe("bad_request");
    const nowhere = await client.call("PUT", operations.setLabLock.path, { body: JSON.stringify({ lab: "/nowhere", locked: true }) });
    expect([nowhere.status, nowhere.json.code]).toEqual([404, "lab_not_found"]);
  });
});

test("a lock that is set while a change runs stops the change after the step in flight", async () => {
  let hook: (operation: Operation) => Promise<void> = async () => {};
  await using served = await serve({ host: memoryHost({ users, beforeStep: (_lab, operation) => hook(operation) }) });
  const [ann, again] = [await served.signIn("ann"), await served.signIn("ann")];
  const yaml = "name: locked\nnodes: {h1: {template: linux}, h2: {template: linux}}\n";
  const set = (locked: boolean) => again.call("PUT", operations.setLabLock.path, { body: JSON.stringify({ lab, locked }) });
  hook = async ({ step }) => {
    if (step.do === "create-node") await set(true);
  };
  const { status, json } = await ann.post(operations.deployProject.path, { yaml });
  expect([status, json.code]).toEqual([423, "lab_locked_mid_apply"]);
  expect(json.data.applied.length).toBeGreaterThan(0);
  expect(json.data.remaining.length).toBeGreaterThan(0);
  expect(json.error).toContain("labwright unlock");
  hook = async () => {};
  expect((await set(false)).json.data.locked).toBe(false);
  expect((await ann.post(operations.reconcileProject.path, { yaml })).json.data.status).toBe("applied");
});

test("whoever may not edit a lab may not lock it, and PNETLab's labs are locked in its own pages", async () => {
  await using served = await serve();
  const ann = await served.signIn("ann");
  const [bob, eve] = [await served.signIn("bob"), await served.signIn("eve")];
  await ann.post(operations.deployProject.path, { yaml: "name: locked\nnodes: {h1: {template: linux}}\n" });
  await ann.call("PUT", operations.setLabGrants.path, { body: JSON.stringify({ lab, grants: [{ user: "bob", right: "operate" }] }) });
  const set = (client: RawClient) => client.call("PUT", operations.setLabLock.path, { body: JSON.stringify({ lab, locked: true }) });
  expect((await set(bob)).json.code).toBe("operation_not_allowed");
  expect((await set(eve)).json.code).toBe("operation_not_allowed");
  expect((await set(ann)).json.data.locked).toBe(true);

  await using pnetlab = await eveFixture({ edition: "pnetlab" });
  await using other = await serve({ host: pnetlab.host });
  const admin = await other.signIn("admin", "eve");
  await admin.post(operations.deployProject.path, { yaml: "name: locked\nnodes: {h1: {template: vpcs, start: false}}\n" });
  const { status, json } = await set(admin);
  expect([status, json.code, json.data.feature, json.error]).toEqual([422, "unsupported", "lock", expect.stringContaining("own pages")]);
});
