import { afterAll, beforeAll, expect, test } from "vitest";
import { type OperationId, type OperationRow, operations } from "../../src/contract/operations.ts";
import type { Host, HostSession } from "../../src/hosts/host.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import type { RawClient } from "./raw-client.ts";
import { type Served, serve, users } from "./served.ts";

/** A host that takes every call and answers none, while `silent`: each operation must come to an end all the same. */

const intent = (name: string) =>
  `name: ${name}\nnodes:\n  r1: {template: frr}\n  h1: {template: linux}\nlinks:\n  - ["r1:eth0", "h1:eth0"]\n`;
let silent = false;

function silentHost(): Host {
  const memory = memoryHost({ users });
  const quiet = (session: HostSession): HostSession =>
    new Proxy(session, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== "function" || name === "close") return value;
        return (...given: unknown[]) => (silent ? new Promise(() => {}) : (value as (...all: unknown[]) => unknown).apply(target, given));
      },
    });
  return {
    ...memory,
    login: async (user, password) => (silent ? new Promise<never>(() => {}) : quiet(await memory.login(user, password))),
    resume: async (user) => {
      if (silent) return new Promise<never>(() => {});
      const session = await memory.resume!(user);
      return session && quiet(session);
    },
  };
}

/** The operations that wait for their host, with their requests; the others do not need it. */
const calls: Readonly<Partial<Record<OperationId, object>>> = {
  login: { username: "ann", password: "ann-password" },
  getCapabilities: {},
  listTemplates: {},
  getTemplate: {},
  listTemplateImages: {},
  listTemplateAttributes: {},
  listNetworkTypes: {},
  listIcons: {},
  completeLinkInterfaces: { template: "frr" },
  previewInterfaces: { template: "frr" },
  importProject: {},
  planProject: {},
  deployProject: { lab: "/new", yaml: intent("new") },
  reconcileProject: {},
  destroyProject: {},
  getProjectStatus: {},
  inspectProject: { refresh: true },
  listProjectConsoles: {},
  execProject: { action: "start" },
  execConsole: { node: "r1", command: "x" },
  execConsoleMany: { command: "x" },
  execNodes: { node: "r1", argv: ["true"] },
  attachProcess: { node: "r1" },
  copyFiles: { node: "r1", path: "/etc", direction: "from_node" },
  attachConsole: { node: "r1" },
  readConsoleLog: { node: "r1" },
  runConsole: { node: "r1", steps: [{ send: "x" }] },
  applyLinkQuality: { endpoints: ["r1:eth0", "h1:eth0"] },
  setLinkSuspend: { endpoints: ["r1:eth0", "h1:eth0"], suspended: true },
  listLabs: {},
};

const ids = Object.keys(calls) as OperationId[];

let served: Served;
let ann: RawClient;

beforeAll(async () => {
  served = await serve({ host: silentHost(), service: { closeWaitMs: 50, statusIntervalMs: 0 } });
  ann = await served.signIn("ann");
  // A lab for each: changes of one lab would refuse each other.
  for (const id of ids) await ann.post(operations.deployProject.path, { yaml: intent(id) });
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
});

test("a host that says nothing does not keep a caller waiting beyond the deadline, in any operation that needs it", async () => {
  // Waits are whole seconds: all of them at once, each on a connection and in a session of its own.
  const clients = await Promise.all(ids.map(() => served.signIn("ann")));
  silent = true;
  const answers = await Promise.all(
    ids.map(async (id, index) => {
      const row: OperationRow = operations[id];
      const body = row.body === "json" ? { body: JSON.stringify(id === "login" ? calls[id] : { lab: `/${id}`, ...calls[id] }) } : {};
      const path = row.path.replace("{id}", "frr");
      const answer = await clients[index]!.call(row.method, path, { ...body, headers: { Prefer: "wait=1" } });
      return [id, answer.status, answer.json.code, answer.json.data?.request_id === answer.headers["x-request-id"]];
    }),
  );
  silent = false;
  expect(answers).toEqual(ids.map((id) => [id, 504, "host_timeout", true]));
});

test("a change that takes longer goes on, and the answer names its job", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await using slow = await serve({ host: memoryHost({ users, beforeStep: () => held }) });
  const bob = await slow.signIn("bob");
  const late = await bob.post(operations.deployProject.path, { yaml: intent("wire") }, { headers: { Prefer: "wait=1" } });
  expect([late.status, late.json.code]).toEqual([504, "host_timeout"]);
  const job = async () => (await bob.get(`/api/v1/jobs/${late.json.data.job}`)).json.data;
  expect(await job()).toMatchObject({ status: "running", operation: "deployProject", lab: "/wire" });
  release();
  await expect.poll(job).toMatchObject({ status: "done", result: { lab: "/wire", nodes: 2 } });
});
