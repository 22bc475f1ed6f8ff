import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OperationId, type OperationRow, operations } from "../../src/contract/operations.ts";
import { requestSchemas } from "../../src/contract/schemas/table.ts";
import type { Answer, RawClient } from "./raw-client.ts";
import { type Served, serve } from "./served.ts";

/** Ann has /hidden; Bob asks for it in every operation, and for a lab that nobody has. He must not be able to distinguish the two. */

const yaml = 'name: hidden\nnodes:\n  r1: {template: frr}\n  h1: {template: linux}\nlinks:\n  - ["r1:eth0", "h1:eth0"]\n';
const endpoints = ["r1:eth0", "h1:eth0"];
const hidden = "/hidden";
// As long, so that not even a length differs.
const absent = "/absent";

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
}
type Ask = (lab: string, job: string) => readonly Asked[];

/** The parameters of operations beside the lab. */
const further: Readonly<Partial<Record<OperationId, readonly object[]>>> = {
  planProject: [{}, { direction: "from_host" }, { prune: true, plan_identity: "x" }],
  reconcileProject: [{}, { direction: "from_host" }, { confirm: true }],
  destroyProject: [{}, { wipe: false }],
  execProject: [{ action: "start" }, { action: "wipe", node: "r1" }],
  execConsole: [{ node: "r1", command: "x" }, {}],
  execConsoleMany: [{ targets: [{ node: "r1", command: "x" }] }, { command: "x" }],
  attachConsole: [{ node: "r1" }, { node: "nobody" }],
  readConsoleLog: [{ node: "r1" }, { node: "nobody" }],
  runConsole: [{ node: "r1", steps: [{ send: "x" }] }],
  applyLinkQuality: [{ endpoints, a: { delay: 1 } }, { endpoints: ["r1:eth0", "nobody:eth0"] }],
  setLinkSuspend: [{ endpoints, suspended: true }],
  startCapture: [{ node: "r1", interface: "eth0" }],
  editProject: [
    { section: "description", value: "x" },
    { section: "description", value: "x", revision: "x" },
  ],
  attachTraffic: [{}],
  setLabLock: [{ locked: true }, { locked: false }],
  extendLease: [{ extend_ms: 3_600_000 }, { extend_ms: 1 }],
  takeSnapshot: [{}, { snapshot: "x" }],
  restoreSnapshot: [{ snapshot: "x" }],
  removeSnapshot: [{ snapshot: "x" }],
  setLabGrants: [{ grants: [] }, { grants: [{ user: "bob", right: "edit" }] }],
};

/** These name no lab of somebody: nothing to hide. */
const withoutLab: ReadonlySet<OperationId> = new Set([
  ...([
    "getHealth",
    "login",
    "finishLogin",
    "logout",
    "getSession",
    "createBrowserSession",
    "getCapabilities",
    "listTemplates",
    "getTemplate",
  ] as const),
  ...(["listTemplateImages", "listTemplateAttributes", "listNetworkTypes", "listIcons", "completeLinkInterfaces"] as const),
  ...(["previewInterfaces", "listLabs", "listJobs", "getOpenApi", "getMetrics", "listDisks", "getHostLoad", "listHostUsers"] as const),
  ...(["listTokens", "listQuotas", "setQuota", "listMachines", "setMachine", "removeMachine", "drainMachine", "createJoinToken"] as const),
  ...(["listReservations", "createReservation", "removeReservation"] as const),
]);

/** Tickets belong to a session, and are tried by themselves. */
const byTicket: ReadonlySet<OperationId> = new Set(
  (Object.keys(operations) as OperationId[]).filter((id) => "params" in requestSchemas[id] && operations[id].path.includes("{ticket}")),
);

function asks(id: OperationId): Ask {
  const row: OperationRow = operations[id];
  if (id === "getPicture") return (lab) => [{ method: "GET", path: `${row.path.replace("{id}", "1")}?lab=${encodeURIComponent(lab)}` }];
  if (row.path.includes("{id}")) {
    return (lab, job) => [
      {
        method: row.method,
        path: row.path
          .replace("{number}", "1")
          .replace("{id}", lab === hidden ? job : job.replace(/^./, (first) => (first === "0" ? "1" : "0"))),
      },
    ];
  }
  if (row.method === "GET") return (lab) => [{ method: "GET", path: `${row.path}?lab=${encodeURIComponent(lab)}` }];
  return (lab) =>
    (further[id] ?? [{}]).flatMap((fields) =>
      [
        { lab },
        { lab, manifest: `version: 1\nmode: load\nlab: ${lab}\n` },
        { manifest: `version: 1\nmode: create\nlab: ${lab}\n`, ...(id === "importProject" && { lab }) },
      ].map((selector) => ({
        method: row.method,
        path: row.path,
        body: JSON.stringify({ ...selector, ...fields }),
      })),
    );
}

const asked = (Object.keys(operations) as OperationId[]).filter((id) => !withoutLab.has(id) && !byTicket.has(id));

let served: Served;
let bob: RawClient;
let job: string;

beforeAll(async () => {
  served = await serve({ service: { webUi: { page: () => "https://localhost/lab", capturePage: () => "https://localhost/lab" } } });
  const ann = await served.signIn("ann");
  bob = await served.signIn("bob");
  const keyed = (headers = {}) => ann.post("/api/v1/projects/deploy", { yaml }, { headers: { "Idempotency-Key": "once", ...headers } });
  await keyed();
  job = (await keyed({ Prefer: "respond-async" })).json.data.job;
});
afterAll(() => served[Symbol.asyncDispose]());

/** Bob's answer with unavoidable differences removed: the name that he asked for, and the request's own marks. */
function normalized(answer: Answer, names: readonly string[]): string {
  const { "x-request-id": request, date: _date, ...headers } = answer.headers;
  const text = JSON.stringify([answer.status, headers, answer.text]).replaceAll(String(request), "REQUEST");
  return names.reduce((sum, name) => sum.replaceAll(name, "NAME"), text);
}

describe("another user's lab is answered like one that is not there, to the byte", () => {
  test.each(asked)("%s", async (id) => {
    const ask = asks(id);
    const [theirs, nobodys] = [ask(hidden, job), ask(absent, job)];
    for (const [index, request] of theirs.entries()) {
      const other = nobodys[index]!;
      const answers = [await bob.call(request.method, request.path, request), await bob.call(other.method, other.path, other)] as const;
      const names = [hidden.slice(1), absent.slice(1), ...[request.path, other.path].map((path) => path.split("/").at(-1)!)].filter(
        (name) => name.length > 5,
      );
      const marks = operations[id].path.includes("{id}") && id !== "getPicture" ? [job, other.path.split("/")[4]!] : names;
      expect(normalized(answers[0], marks), request.body).toBe(normalized(answers[1], marks));
      expect(answers[0].status, answers[0].text).toBeGreaterThanOrEqual(400);
    }
  });

  test("validate looks nothing up: the intent of a name that is taken is as valid as any", async () => {
    expect((await bob.post(operations.validateProject.path, { yaml, lab: hidden })).json.data).toEqual({ status: "valid", warnings: [] });
  });

  test("only who wants to make a lab of that name learns that the name cannot be had, and nothing else", async () => {
    for (const id of ["planProject", "deployProject", "reconcileProject"] as const) {
      const { status, json } = await bob.post(operations[id].path, { yaml });
      const error = `the path ${hidden} is not available to you: choose another name for the lab, or another path with "lab"`;
      expect([status, json]).toEqual([404, { ok: false, code: "lab_not_found", error, data: { path: hidden } }]);
    }
  });

  test("lists and events have nothing of it", async () => {
    expect((await bob.get("/api/v1/labs")).text).not.toContain("hidden");
    const ann = await served.signIn("ann");
    const stream = await bob.secure(`GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${bob.token}\r\n\r\n`);
    await expect.poll(stream.heard).toContain("200 OK");
    await ann.post("/api/v1/projects/exec", { lab: hidden, action: "stop" });
    await bob.post("/api/v1/projects/deploy", { yaml: "name: seen\nnodes: {a: {template: linux}}\n" });
    await expect.poll(stream.heard).toContain("/seen");
    expect(stream.heard()).not.toContain("hidden");
    stream.socket.destroy();
  });

  test("every operation is asked, except those that name no lab", () => {
    expect([...asked, ...withoutLab, ...byTicket].sort()).toEqual(Object.keys(operations).sort());
  });
});
