import { afterEach, beforeEach, expect, test } from "vitest";
import type { PostgresAddress } from "../../service/store/address/address.ts";
import { cluster, postgresPrograms } from "../../service/store/testing/cluster.fixture.ts";
import { type Member, openMember } from "./fleet.fixture.ts";

const is = { skip: postgresPrograms === undefined, timeout: 240_000 };
const patient = { timeout: 60_000 };
const pair = (name: string, place: string) => `name: ${name}\nplace: ${place}\nnodes:\n  h1: {template: linux}\n`;

let cleanup: AsyncDisposableStack;
let address: PostgresAddress;
beforeEach(() => {
  cleanup = new AsyncDisposableStack();
});
afterEach(() => cleanup.disposeAsync());

async function join(first: Member, name: string, place: number): Promise<Member> {
  const { token } = await first.fleet.calls.createToken(600_000);
  return cleanup.use(await openMember({ name, place, address, token }));
}

test("the labs of a machine that was removed go where their place says, not to the machine that is asked", is, async () => {
  address = await (await cluster()).database();
  const one = cleanup.use(await openMember({ name: "one", place: 1, address }));
  const lost = await join(one, "lost", 2);
  const third = await join(one, "third", 3);
  await one.hasFree(1_000);
  const admin = await one.login("admin");
  const client = one.client(admin);
  const deployed = await client.post("/api/v1/projects/deploy", { yaml: pair("far", "{machine: lost}") });
  expect(deployed.json).toMatchObject({ ok: true, data: { placement: { machine: "lost" } } });
  await expect.poll(() => one.store.labs.get("/far"), patient).toBeDefined();
  await expect.poll(() => third.store.labs.get("/far"), patient).toBeDefined();
  await lost.crash();
  // The store of a machine that has crashed would renew its lease.
  await lost.store.close();
  expect((await client.post("/api/v1/machines/remove", { name: "lost", force: true })).json).toMatchObject({ ok: true });

  const nowhere = await client.post("/api/v1/projects/plan", { yaml: pair("far", "{machine: lost}") });
  expect(nowhere.json).toMatchObject({
    ok: false,
    code: "invalid_intent",
    data: { diagnostics: [{ code: "no_machine", message: "there is no machine lost", hint: "machines that run labs: one, third" }] },
  });
  await third.hasFree(1_000);
  await one.hasFree(1_000);
  const planned = await client.post("/api/v1/projects/plan", { yaml: pair("far", "{machine: third}") });
  expect(planned.json).toMatchObject({
    ok: true,
    data: { placement: { machine: "third" }, text: expect.stringContaining("Machine: third (") },
  });
  const applied = await client.post("/api/v1/projects/reconcile", {
    yaml: pair("far", "{machine: third}"),
    confirm: true,
    plan_identity: planned.json.data.plan_identity,
  });
  expect(applied.json, JSON.stringify(applied.json)).toMatchObject({ ok: true });
  expect(await third.host.holds?.("/far")).not.toBe(false);
  const listed = await client.get("/api/v1/labs");
  expect(listed.json.data.labs).toMatchObject([{ lab: "/far", machine: "third", exists: true }]);
  const moved = await client.post("/api/v1/projects/plan", { yaml: pair("far", "{machine: one}") });
  expect(moved.json.data.text).toContain("place. Apply stores it; the place counts when the lab is created again.");
});
