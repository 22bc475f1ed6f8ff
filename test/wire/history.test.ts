import { afterAll, beforeAll, expect, test } from "vitest";
import { Failure } from "../../src/contract/errors.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import type { RawClient } from "./raw-client.ts";
import { type Served, serve, users } from "./served.ts";

/** The earlier states of a lab. */

let isBroken = false;
let served: Served;
let ann: RawClient;
let bob: RawClient;

const lab = "/past";
const first = `name: past # as it began
nodes:
  r1: {template: frr, startup-config: r1.conf}
`;
const files = { "r1.conf": "hostname r1\nenable password config-secret\n" };
const second = `${first}  h1: {template: linux}\nlinks:\n  - ["r1:eth0", "h1:eth0"]\n`;

beforeAll(async () => {
  const beforeStep = () => {
    if (isBroken) throw new Failure("host_error", "no room");
  };
  served = await serve({ host: memoryHost({ users, beforeStep }) });
  [ann, bob] = await Promise.all([served.signIn("ann"), served.signIn("bob")]);
});
afterAll(() => served[Symbol.asyncDispose]());

interface Entry {
  readonly serial: number;
  readonly operation: string;
}

const historyOf = async (client: RawClient): Promise<readonly Entry[]> => {
  const { status, json } = await client.post("/api/v1/projects/history", { lab });
  expect(status).toBe(200);
  return json.data.entries;
};
const textOf = (client: RawClient, serial: number, asWritten = false) =>
  client.post("/api/v1/projects/history/text", { lab, serial, as_written: asWritten });
const apply = (yaml: string) => ann.post("/api/v1/projects/reconcile", { yaml, files });

test("each change of a lab is a state with its user, time and steps, and its text gives the plan of the way back", async () => {
  expect((await ann.post("/api/v1/projects/deploy", { yaml: first, files })).status).toBe(200);
  expect((await apply(second)).json.data.status).toBe("applied");
  const section = { lab, section: "description", value: "two nodes" };
  expect((await ann.post("/api/v1/projects/edit", section)).status).toBe(200);
  expect((await ann.post("/api/v1/projects/reconcile", { lab })).json.data.status).toBe("applied");
  // Nothing to do: no new state.
  expect((await ann.post("/api/v1/projects/reconcile", { lab })).json.data.status).toBe("unchanged");
  const entries = await historyOf(ann);
  expect(entries).toMatchObject([
    { operation: "reconcileProject", user: "ann", outcome: "finished", nodes: 2, links: 1, is_current: true, has_text: true },
    { operation: "editProject", user: "ann", nodes: 2, links: 1, is_current: false },
    { operation: "reconcileProject", user: "ann", outcome: "finished", nodes: 2, links: 1, is_current: false },
    { operation: "deployProject", user: "ann", outcome: "finished", nodes: 1, links: 0, is_current: false },
  ]);
  expect(entries[2]).toMatchObject({
    job: expect.any(String),
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    steps: expect.arrayContaining([{ op: "create", kind: "node", key: "h1" }]),
  });
  const { json } = await textOf(ann, entries[3]!.serial, true);
  expect(json.data).toEqual({ lab, serial: entries[3]!.serial, yaml: first, files });
  const plan = await ann.post("/api/v1/projects/plan", { lab, yaml: json.data.yaml, files: json.data.files, prune: true });
  expect(plan.json.data.actions).toEqual(expect.arrayContaining([expect.objectContaining({ op: "delete", kind: "node", key: "h1" })]));
});

test("a user with the right to view sees the history and its texts without secrets and comments, others nothing", async () => {
  expect((await bob.post("/api/v1/projects/history", { lab })).json.code).toBe("lab_not_found");
  await ann.send({ method: "PUT", path: "/api/v1/labs/grants" }, { lab, grants: [{ user: "bob", right: "view" }] });
  const oldest = (await historyOf(bob)).at(-1);
  const shown = await textOf(bob, oldest!.serial);
  expect(shown.json.data.yaml).toContain("r1");
  expect(JSON.stringify(shown.json)).not.toMatch(/config-secret|as it began/);
  expect((await textOf(bob, oldest!.serial, true)).json.code).toBe("operation_not_allowed");
});

test("a change that did nothing leaves no state; of one that failed half way the state stays with its outcome", async () => {
  const before = await historyOf(ann);
  isBroken = true;
  try {
    expect((await apply(`${second.replace("h1: {", "h2: {template: linux}\n  h1: {")}`)).json.code).toBe("host_error");
  } finally {
    isBroken = false;
  }
  expect(await historyOf(ann)).toEqual(before);
  expect((await textOf(ann, 999)).json.code).toBe("history_not_found");
});

test("the history ends with its lab", async () => {
  expect((await ann.post("/api/v1/projects/destroy", { lab })).status).toBe(200);
  expect((await ann.post("/api/v1/projects/history", { lab })).json.code).toBe("lab_not_found");
  expect((await ann.post("/api/v1/projects/deploy", { yaml: first, files })).status).toBe(200);
  expect(await historyOf(ann)).toMatchObject([{ operation: "deployProject" }]);
});
