import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { answerStatus, type ErrorCode, Failure } from "../../src/contract/errors.ts";
import { type OperationId, type OperationRow, operations } from "../../src/contract/operations.ts";
import type { Host, HostSession } from "../../src/hosts/host.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import type { Answer, RawClient } from "./raw-client.ts";
import { type Served, serve } from "./served.ts";

const yaml = 'name: wire\nnodes:\n  r1: {template: frr}\n  h1: {template: linux}\nlinks:\n  - ["r1:eth0", "h1:eth0"]\n';
const lab = "/wire";
const endpoints = ["r1:eth0", "h1:eth0"];

/** The failure of every call to the host, while it is set. */
let trouble: Failure | undefined;
let served: Served;
let client: RawClient;

/** The memory host, with failures on demand. */
function troubled(): Host {
  const memory = memoryHost();
  const shaky = (session: HostSession): HostSession =>
    new Proxy(session, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== "function" || name === "close") return value;
        return async (...given: unknown[]) => {
          if (trouble !== undefined) throw trouble;
          return (value as (...all: unknown[]) => unknown).apply(target, given);
        };
      },
    });
  return {
    ...memory,
    login: async (user, password) => {
      if (trouble !== undefined) throw trouble;
      return shaky(await memory.login(user, password));
    },
    resume: async (user) => {
      if (trouble?.code === "expired_host_session") return null;
      const session = await memory.resume!(user);
      return session && shaky(session);
    },
  };
}

beforeAll(async () => {
  // Nothing is kept from before the trouble began.
  served = await serve({ host: troubled(), service: { statusIntervalMs: 0 } });
  client = await served.signIn("admin", "admin");
  await client.post("/api/v1/projects/deploy", { yaml: `${yaml}lease: 8h\n` });
});
afterAll(async () => {
  trouble = undefined;
  await served[Symbol.asyncDispose]();
});
afterEach(() => {
  trouble = undefined;
});

/** The request of each operation that may report a failure of its host. */
const calls: Readonly<Partial<Record<OperationId, object>>> = {
  login: { username: "admin", password: "admin" },
  getCapabilities: {},
  listTemplates: {},
  getTemplate: {},
  listTemplateImages: {},
  listTemplateAttributes: {},
  listNetworkTypes: {},
  listHostUsers: {},
  getHostLoad: {},
  listIcons: {},
  completeLinkInterfaces: { yaml },
  previewInterfaces: { template: "frr" },
  validateProject: { yaml },
  importProject: { lab },
  planProject: { yaml },
  deployProject: { yaml, replace: true },
  reconcileProject: { yaml },
  destroyProject: { lab },
  getProjectStatus: { lab },
  inspectProject: { lab, refresh: true },
  listProjectConsoles: { lab },
  execProject: { lab, action: "start" },
  execConsole: { lab, node: "r1", command: "x" },
  execConsoleMany: { lab, targets: [{ node: "r1", command: "x" }] },
  attachConsole: { lab, node: "r1" },
  attachProcess: { lab, node: "r1" },
  copyFiles: { lab, node: "r1", path: "/etc", direction: "from_node" },
  readConsoleLog: { lab, node: "r1" },
  runConsole: { lab, node: "r1", steps: [{ send: "x" }] },
  applyLinkQuality: { lab, endpoints, a: { delay: 1 } },
  setLinkSuspend: { lab, endpoints, suspended: true },
  getPublicProject: { lab },
  editProject: { lab, section: "description", value: "x" },
  listLabs: {},
  getLabGrants: {},
  setLabGrants: { lab, grants: [] },
  setLabLock: { lab, locked: true },
  extendLease: { lab, extend_ms: 3_600_000 },
  setLabResume: { lab, resume: "always" },
  saveConfigs: { lab },
  testProject: { lab },
  resumeLab: { lab },
  renumberLab: { lab },
  takeSnapshot: { lab, snapshot: "s" },
  restoreSnapshot: { lab, snapshot: "s" },
  removeSnapshot: { lab, snapshot: "s" },
  listSnapshots: { lab },
  listPictures: { lab },
  getPicture: {},
  getTasks: { lab },
  listSwitches: { lab },
  adoptLab: { lab },
  listHistory: { lab },
  getHistoryText: { lab, serial: 1 },
};

/** Operations that are answered without the host, or report its failure inside the answer. */
const withoutHost: ReadonlySet<OperationId> = new Set([
  "validateProject",
  "getProjectStatus",
  "getPublicProject",
  "editProject",
  "getLabGrants",
  "setLabGrants",
  "extendLease",
  "listHistory",
  "getHistoryText",
]);

async function send(id: OperationId): Promise<Answer> {
  const row: OperationRow = operations[id];
  const path = row.path.replace("{id}", "frr") + (id === "getLabGrants" || id === "getPicture" ? "?lab=%2Fwire" : "");
  return client.call(row.method, path, row.body === "json" ? { body: JSON.stringify(calls[id]) } : {});
}

test("every operation that needs its host is tried, except those of other tests", () => {
  const listed = (Object.entries(operations) as [OperationId, OperationRow][]).filter(([, row]) => row.errors.includes("host_unreachable"));
  const streams = ["openProject", "execNodes", "streamConsole", "streamProcess", "streamTraffic", "attachTraffic", "events"];
  // The memory host makes no captures and keeps no disks, loses no lab, and changes no users.
  const missing = listed
    .map(([id]) => id)
    .filter(
      (id) =>
        calls[id] === undefined &&
        ![...streams].includes(id) &&
        !/Captures?$|CapturePackets?$|Disks?$|Disk(?:Part|Import|Transfer)$|Quarantined?$|^(?:set|remove)HostUser$/.test(id),
    );
  expect(missing).toEqual([]);
});

describe.each<[ErrorCode, Failure]>([
  ["host_unreachable", new Failure("host_unreachable", "no connection to the host", { retryAfter: 5 })],
  ["host_timeout", new Failure("host_timeout", "the host did not answer")],
  ["tls_untrusted", new Failure("tls_untrusted", "the host's certificate is not trusted", { data: { fingerprint: "AB" } })],
  ["tls_pin_mismatch", new Failure("tls_pin_mismatch", "the host's certificate is another one", { data: { fingerprint: "AB" } })],
  ["host_error", new Failure("host_error", "out of order", { data: { host: { status: 500, code: "broken", message: "out of order" } } })],
])("a host that gives %s", (code, failure) => {
  test.each(Object.keys(calls) as OperationId[])("%s", async (id) => {
    trouble = failure;
    const answer = await send(id);
    if (withoutHost.has(id)) {
      expect(answer.status, answer.text).toBe(200);
      if (id === "getProjectStatus") expect(answer.json.data).toMatchObject({ exists: true, live: { available: false } });
      return;
    }
    if (id === "getCapabilities" && (code === "host_unreachable" || code === "host_timeout")) {
      expect(answer.json.data).toMatchObject({ hostReachable: false });
      return;
    }
    if (id === "execConsoleMany" && answer.status === 200) {
      // The trouble of a target stays on that target.
      expect(answer.json.data.results).toMatchObject([{ ok: false, code }]);
      return;
    }
    expect([answer.status, answer.json.code], answer.text).toEqual([answerStatus(code), code]);
    if (code.startsWith("tls_")) expect(answer.json.data).toMatchObject({ fingerprint: "AB", request_id: expect.any(String) });
    expect((operations[id] as OperationRow).errors).toContain(code);
    if (code === "host_unreachable") expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
    if (code === "host_error") expect(answer.json.data.host).toMatchObject({ code: "broken" });
  });
});

test("a host session that has ended is expired_host_session for every call that needs it, until the next login", async () => {
  const { token } = client;
  trouble = new Failure("expired_host_session", "log in again");
  for (const id of Object.keys(calls) as OperationId[]) {
    if (id === "login" || id === "validateProject") continue;
    const answer = await send(id);
    if (id === "execConsoleMany" && answer.status === 200)
      expect(answer.json.data.results).toMatchObject([{ code: "expired_host_session" }]);
    else expect([id, answer.status, answer.json.code]).toEqual([id, 401, "expired_host_session"]);
    expect(answer.status === 401 ? answer.headers["www-authenticate"] : "Bearer").toBe("Bearer");
  }
  trouble = undefined;
  client.token = (await send("login")).json.data.token;
  expect((await send("planProject")).status).toBe(200);
  client.token = token;
  expect((await send("planProject")).status).toBe(200);
});

test("a status whose live read failed has the reason, and no nodes and no netem, which is not an empty lab", async () => {
  trouble = new Failure("host_unreachable", "away");
  const { live } = (await send("getProjectStatus")).json.data;
  expect(live).toEqual({ available: false, error: { code: "host_unreachable", error: "away" } });
});

test("trouble of the host leaves the lab as it was", async () => {
  const plan = await send("planProject");
  expect(plan.json.data).toMatchObject({ exists: true });
  expect((await send("getProjectStatus")).json.data.live.nodes).toHaveLength(2);
});
