import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Operation } from "../../src/engine/model/plan.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import type { RawClient } from "./raw-client.ts";
import { type Served, serve, users } from "./served.ts";

const plain = `name: poor
nodes:
  r1: {template: frr}
  sw: {template: switch}
links:
  - ["r1:eth0", "sw:eth0"]
`;
/** A switch runs no process: this host has no place for its env. */
const beyond = plain.replace("template: switch", "template: switch, env: {A: b}");
const described = beyond.replace("name: poor", "name: poor\ndescription: changed");
const why = expect.stringMatching(/^sw\.env: /);
let served: Served;
let ann: RawClient;
const steps: Operation[] = [];
const host = memoryHost({ users, beforeStep: (_lab, operation) => void steps.push(operation) });

beforeAll(async () => {
  served = await serve({ host });
  ann = await served.signIn("ann");
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
});
afterEach(async () => {
  await ann.post("/api/v1/projects/destroy", { lab: "/poor" });
  steps.length = 0;
});

const call = async (operation: string, body: object) => {
  const { status, json } = await ann.post(`/api/v1/projects/${operation}`, body);
  expect([status, json]).toEqual([200, expect.objectContaining({ ok: true })]);
  if (operation === "deploy") steps.length = 0;
  return json.data;
};

test("reconcile to_host changes nothing while the host does not support something, and names it", async () => {
  await call("deploy", { yaml: plain });
  const plan = await call("plan", { yaml: described });
  expect(plan).toMatchObject({ applicable: false, blocked: [], unsupported: [why], summary: { unsupported: 1 } });
  expect(plan.actions).not.toEqual([]);
  const unconfirmed = await call("reconcile", { yaml: described });
  const confirmed = await call("reconcile", { yaml: described, confirm: true, plan_identity: plan.plan_identity });
  for (const answer of [unconfirmed, confirmed])
    expect(answer).toMatchObject({ applicable: false, applied: 0, status: "unchanged", blocked: [], unsupported: [why] });
  expect(steps).toEqual([]);
  expect((await call("inspect", { lab: "/poor", refresh: true })).description).toBeUndefined();
  expect((await call("public", { lab: "/poor" })).yaml).not.toContain("env");
});

test("a reconcile that would deploy the whole lab changes nothing either; deploy leaves out what is unsupported", async () => {
  const refused = await call("reconcile", { yaml: beyond });
  expect(refused).toMatchObject({ fullDeploy: true, applicable: false, applied: 0, status: "unchanged", unsupported: [why] });
  expect(steps).toEqual([]);
  expect((await ann.post("/api/v1/projects/status", { lab: "/poor" })).json.code).toBe("lab_not_found");
  expect(await call("deploy", { yaml: beyond })).toMatchObject({ nodes: 2, unsupported: [why] });
});

test("allow_unsupported applies the rest, and the answer lists what was left out", async () => {
  await call("deploy", { yaml: plain });
  const plan = await call("plan", { yaml: described, allow_unsupported: true });
  expect(plan).toMatchObject({ applicable: true, unsupported: [why] });
  const body = { yaml: described, allow_unsupported: true, confirm: true, plan_identity: plan.plan_identity };
  const answer = await call("reconcile", body);
  expect(answer).toMatchObject({ applicable: true, status: "applied", unsupported: [why] });
  expect(answer.applied).toBe(steps.length);
  expect(answer.applied).toBeGreaterThan(0);
  expect((await call("inspect", { lab: "/poor", refresh: true })).description).toBe("changed");
  // Nothing is left, which still differs from the text.
  expect(await call("plan", { yaml: described })).toMatchObject({ actions: [], operations: [], applicable: false, unsupported: [why] });
});

test("the plan identity binds allow_unsupported", async () => {
  await call("deploy", { yaml: plain });
  const { plan_identity } = await call("plan", { yaml: described });
  const body = { yaml: described, confirm: true, plan_identity, allow_unsupported: true };
  expect((await ann.post("/api/v1/projects/reconcile", body)).json.code).toBe("plan_stale");
  expect((await ann.post("/api/v1/projects/reconcile", { ...body, allow_unsupported: null })).json.code).toBe("bad_request");
  expect(steps).toEqual([]);
});

test("a blocked plan stays blocked with allow_unsupported, and both are listed", async () => {
  await call("deploy", { yaml: plain });
  const blocked = described.replace("links:", "  h1: {template: nosuch}\nlinks:");
  const answer = await call("reconcile", { yaml: blocked, allow_unsupported: true });
  expect(answer).toMatchObject({ applicable: false, applied: 0, status: "unchanged", blocked: [{ key: "h1" }], unsupported: [why] });
  expect(steps).toEqual([]);
});
