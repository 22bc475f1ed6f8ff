import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, LabwrightError } from "../../src/client/index.ts";
import { type ErrorCode, errors, Failure } from "../../src/contract/errors.ts";
import { commonErrors, type OperationId, type OperationRow, operations } from "../../src/contract/operations.ts";
import type { HostRules, Operation } from "../../src/engine/model/plan.ts";
import type { Host, HostCapabilities, HostSession, LiveStatus } from "../../src/hosts/host.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import { memoryFeatures } from "../../src/hosts/memory/memory-rules.ts";
import { memoryTemplates } from "../../src/hosts/memory/memory-template.ts";
import { startServer } from "../../src/server/start.ts";
import { fingerprintOf } from "../../src/server/tls/certificate.ts";
import { selfSigned } from "../../src/server/tls/self-signed.ts";
import { createService } from "../../src/service/create-service.ts";
import type { Service } from "../../src/service/service.ts";
import { sqliteStore } from "../../src/service/store/sqlite.ts";
import { type Answer, RawClient } from "./raw-client.ts";
import { cookieIn } from "./served.ts";

/**
 * Every code that the table gives an operation is caused, over the wire, in that operation. Codes that cannot be caused here are listed
 * in `elsewhere` with the reason; a code that is neither is a promise that nobody has seen kept.
 */

const rows = Object.entries(operations) as [OperationId, OperationRow][];
const yaml =
  'name: wire\nnodes:\n  r1: {template: frr}\n  h1: {template: linux}\n  v1: {template: screen}\nlinks:\n  - ["r1:eth0", "h1:eth0"]\n';
const lab = "/wire";
const endpoints = ["r1:eth0", "h1:eth0"];
const load = `version: 1\nmode: load\nlab: ${lab}\n`;

const users = ["admin", "ann", "bob", "eve"].map((name) => ({
  name,
  password: name,
  role: name === "admin" ? ("admin" as const) : name === "eve" ? ("viewer" as const) : ("user" as const),
}));

/** A good body, or a good query, of each operation that has one. Captures and traffic have no host here. */
const good: Readonly<Partial<Record<OperationId, Readonly<Record<string, unknown>>>>> = {
  login: { username: "ann", password: "ann" },
  createBrowserSession: {},
  completeLinkInterfaces: { yaml },
  previewInterfaces: { yaml },
  validateProject: { yaml },
  importProject: { lab },
  planProject: { yaml },
  deployProject: { yaml, replace: true },
  reconcileProject: { yaml: yaml.replace("links:", "  h2: {template: linux}\nlinks:") },
  destroyProject: { lab },
  getProjectStatus: { lab },
  inspectProject: { lab, refresh: true },
  openProject: { lab },
  listProjectConsoles: { lab },
  execProject: { lab, action: "stop" },
  execConsole: { lab, node: "r1", command: "x" },
  execConsoleMany: { lab, targets: [{ node: "r1", command: "x" }] },
  execNodes: { lab, node: "r1", argv: ["true"] },
  attachProcess: { lab, node: "r1" },
  copyFiles: { lab, node: "r1", path: "/etc", direction: "from_node" },
  attachConsole: { lab, node: "r1" },
  readConsoleLog: { lab, node: "r1" },
  runConsole: { lab, node: "r1", steps: [{ send: "x" }] },
  applyLinkQuality: { lab, endpoints, a: { delay: 1 } },
  setLinkSuspend: { lab, endpoints, suspended: true },
  startCapture: { lab, node: "r1", interface: "eth0" },
  listCaptures: { lab },
  finishLogin: { code: "x", verifier: "x".repeat(43) },
  createToken: { name: "ci" },
  revokeToken: { id: "none" },
  setHostUser: { user: "bob", role: "user" },
  removeHostUser: { user: "bob" },
  listHistory: { lab },
  getHistoryText: { lab, serial: 1 },
  getPublicProject: { lab },
  editProject: { lab, section: "description", value: "x" },
  attachTraffic: { lab },
  getLabGrants: { lab },
  setQuota: { kind: "user", name: "bob", labs: 5 },
  createReservation: { until: "2030-01-01T00:00:00Z", memory_mib: 1 },
  removeReservation: { id: "none" },
  setMachine: { name: "one" },
  removeMachine: { name: "one" },
  drainMachine: { name: "one" },
  setLabGrants: { lab, grants: [] },
  setLabLock: { lab, locked: false },
  extendLease: { lab, extend_ms: 3_600_000 },
  setLabResume: { lab, resume: "never" },
  saveConfigs: { lab },
  testProject: { lab },
  resumeLab: { lab },
  renumberLab: { lab },
  listSnapshots: { lab },
  takeSnapshot: { lab, snapshot: "s" },
  restoreSnapshot: { lab, snapshot: "s" },
  removeSnapshot: { lab, snapshot: "s" },
  listPictures: { lab },
  getPicture: { lab, id: "1" },
  getTasks: { lab },
  listSwitches: { lab },
  importFile: { text: "graph { r1 -- h1 }" },
  adoptLab: { lab },
  exportDisks: { lab },
  downloadDisk: { node: "r1" },
  importDisks: { lab: "/other", disks: [] },
  uploadDiskPart: { node: "r1", offset: 0, base64: "" },
  events: { lab },
};

/** Who may call an operation at all. */
const userOf = (id: OperationId) =>
  ["adoptLab", "listHostUsers", "setHostUser", "removeHostUser", "setQuota"].includes(id) ? "admin" : "ann";

/** Pairs that this file does not bring about, and why. "*" is any operation. */
const elsewhere: Readonly<Record<string, string>> = {
  "* rate_limited":
    "many unknown API tokens: src/service/tokens/api-tokens.test.ts; too many large intents at once: src/service/work/pool.test.ts",
  "* number_clash": "labs of the memory host share no numbers: test/wire/eve-clash.extended.test.ts",
  "* node_stuck": "no node of the memory host is ever half started: the same",
  "* store_unavailable": "the database of these services is a file: src/service/store/postgres/faults.extended.test.ts",
  "* machine_unreachable": "there is no fleet: src/server/fleet/fleet.test.ts",
  "* lab_elsewhere": "the same: src/service/store/postgres/two-services.test.ts",
  "* image_pull_failed": "the memory host pulls no images: src/hosts/local/containers/tests/registry-faults.test.ts",
  "* lab_in_use": "the memory host has one power for all users: the same",
  "testProject lab_locked":
    "only tests that change the lab are refused, and the memory host's lab has none: src/service/lab-tests/test-project.ts",
  "testProject cancelled": "without tests nothing is left to cancel",
  "* room_reserved": "no user of this file has a reservation: src/service/reservations/reservations.test.ts",
  "* quota_exceeded": "no user of this file has a quota: src/service/quotas/quotas.test.ts",
  "extendLease lab_busy": "only while the lease ends: src/service/lease-ends/lease-ends.test.ts",
  "getHealth internal": "answered before anything that could break",
  "getHealth overloaded": "opens nothing",
  "getOpenApi overloaded": "opens nothing",
  "getOpenApi internal": "a constant document: nothing of it can break",
  "streamTraffic unsupported": "its ticket comes first, and a host without traffic gives none",
  "streamCapture unsupported": "its ticket comes first, and a host without captures gives none",
  "openProject unsupported": "without web pages: test/wire/browser.test.ts",
  "restoreQuarantined lab_not_found": "the memory host loses no lab: test/wire/quarantine.test.ts",
  "deleteQuarantined lab_not_found": "the same",
  "restoreQuarantined lab_exists": "the same: src/hosts/local/definitions/definitions.test.ts",
  "streamProcess unsupported": "its ticket comes first, and a host without programs gives none",
  "attachConsole browser_token_invalid": "attach gives tickets and takes none; the code is its stream's",
};

let troubles: ((call: string) => Failure | Error | undefined) | undefined;
let hold: ((operation: Operation) => Promise<void> | void) | undefined;
/** A change of a link has no step but one; before it, it looks. */
let looking: (() => Promise<void>) | undefined;
let broken: Error | undefined;
let resumable = true;
const time = { now: Date.now(), stood: 0 };

function altered(call: string, answer: unknown): unknown {
  if (call === "rules") {
    const rules = answer as HostRules;
    return { ...rules, templates: rules.templates.filter(({ id }) => !lacks.includes(id)) };
  }
  // Stopped nodes count as nodes that went down with the host, which reports them: so there is something to resume.
  if (call === "status") {
    const live = answer as LiveStatus;
    return { ...live, nodes: live.nodes.map((node) => (node.status === "stopped" ? { ...node, lost: "host_restart" as const } : node)) };
  }
  if (call !== "capabilities") return answer;
  const offered = answer as HostCapabilities;
  return { ...offered, features: { ...offered.features, resume: true, ...Object.fromEntries(lacks.map((name) => [name, false])) } };
}

/** The memory host, with a template that has a screen and nodes that can be resumed, and in trouble when asked to. */
function shakyHost(): Host {
  const screen = { ...memoryTemplates.find(({ id }) => id === "linux")!, id: "screen", consoleType: "vnc" as const };
  const memory = memoryHost({ users, templates: [...memoryTemplates, screen], beforeStep: (_lab, operation) => hold?.(operation) });
  const check = (call: string) => {
    const trouble = troubles?.(call);
    if (trouble !== undefined) throw trouble;
  };
  const shaky = (session: HostSession): HostSession =>
    new Proxy(session, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== "function" || name === "close" || name === "setLock") return value;
        return async (...given: unknown[]) => {
          check(String(name));
          if (name === "observe") await looking?.();
          const answer = await (value as (...all: unknown[]) => unknown).apply(target, given);
          return altered(String(name), answer);
        };
      },
    });
  return {
    ...memory,
    login: async (user, password) => {
      check("login");
      return shaky(await memory.login(user, password));
    },
    resume: async (user) => {
      check("resume");
      const session = resumable ? await memory.resume!(user) : null;
      return session && shaky(session);
    },
  };
}

const made = selfSigned({ names: ["localhost"], from: new Date(Date.now() - 1000), until: new Date(Date.now() + 1e9) });
const host = shakyHost();
let server: Awaited<ReturnType<typeof startServer>>;
let service: Service;
const clients: RawClient[] = [];
let ann: RawClient;
let eve: RawClient;
let admin: RawClient;
const by = (id: OperationId) => (userOf(id) === "admin" ? admin : ann);

/** Features, and the template of v1, that the host hides while they are listed here. */
let lacks: readonly string[] = [];

/** Every handler is broken while `broken`: a defect of the service. */
function breakable(whole: Service): Service {
  const handlers = Object.fromEntries(
    Object.entries(whole.handlers).map(([id, handle]) => [
      id,
      (...given: unknown[]) => (broken ? Promise.reject(broken) : (handle as (...all: unknown[]) => unknown)(...given)),
    ]),
  ) as unknown as Service["handlers"];
  return { ...whole, handlers };
}

async function signIn(name: string): Promise<RawClient> {
  const client = new RawClient(server.url);
  clients.push(client);
  client.token = (await client.post("/api/v1/login", { username: name, password: name })).json.data.token;
  return client;
}

beforeAll(async () => {
  service = createService({
    host,
    store: sqliteStore(":memory:"),
    clock: { now: () => time.now },
    log: () => {},
    version: "1",
    statusIntervalMs: 0,
    closeWaitMs: 100,
    webUi: { page: () => "https://localhost/lab", capturePage: () => "https://localhost/capture" },
  });
  server = await startServer({
    service: breakable(service),
    certificate: { ...made, fingerprint: fingerprintOf(made.certificate) },
    version: "1",
    graceMs: 200,
  });
  [ann, eve, admin] = [await signIn("ann"), await signIn("eve"), await signIn("admin")];
  await deploy();
});
afterAll(async () => {
  troubles = undefined;
  hold = undefined;
  for (const client of clients) client[Symbol.dispose]();
  await server.close();
  await service.close();
  await host.close();
});

/** The lab as it is at the beginning of every case. */
async function deploy(): Promise<void> {
  const answer = await send(ann, "deployProject", { yaml, replace: true });
  if (answer.status !== 200) throw new Error(`deploy: ${answer.text}`);
}

const pathOf = (row: OperationRow, part = "frr") => row.path.replace("{number}", "1").replace(/\{\w+\}/, part);

function send(
  client: RawClient,
  id: OperationId,
  fields: object = {},
  part?: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const row: OperationRow = operations[id];
  if (row.answer === "upgrade") return upgrade(client, pathOf(row, part), row.protocol!);
  if (row.body === "json") return client.call(row.method, pathOf(row, part), { body: JSON.stringify({ ...good[id], ...fields }), headers });
  const query = new URLSearchParams(
    Object.entries({ ...good[id], ...fields }).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const body = row.body === "unread" ? { body: "{}" } : {};
  return client.call(row.method, `${pathOf(row, part)}${query.size > 0 ? `?${query}` : ""}`, { ...body, headers });
}

/** Raw bytes, and the answer in them. */
async function raw(client: RawClient, text: string): Promise<Answer> {
  const connection = await client.secure(text);
  await connection.ended();
  return parsed(connection.heard());
}

function parsed(heard: string): Answer {
  const [head = "", ...rest] = heard.split("\r\n\r\n");
  const text = rest.join("\r\n\r\n");
  const [, status = "0"] = /^HTTP\/1\.1 (\d+)/.exec(head) ?? [];
  const json = text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1);
  return { status: Number(status), headers: {}, text: heard, json: json === "" ? {} : JSON.parse(json), reused: false };
}

function upgrade(client: RawClient, path: string, protocol: string): Promise<Answer> {
  const authorization = client.token === null ? "" : `Authorization: Bearer ${client.token}\r\n`;
  return raw(client, `GET ${path} HTTP/1.1\r\nHost: x\r\n${authorization}Connection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
}

type Bring = (id: OperationId, row: OperationRow) => Promise<Answer | ErrorCode>;

/** The whole session of a caller whose host session is gone; a ticket of it where the operation takes one. */
async function ticket(client: RawClient, stream: OperationId): Promise<string> {
  return (await send(client, stream === "streamProcess" ? "attachProcess" : "attachConsole")).json.data.stream;
}

/** The streams of nodes. */
const ofNodes: ReadonlySet<OperationId> = new Set(["streamConsole", "streamProcess"]);

/** The operation, begun without open host calls: the next event of the host happens to it. */
async function onTrouble(id: OperationId, trouble: Failure): Promise<Answer> {
  const client = await signIn(userOf(id));
  const part = ofNodes.has(id) ? await ticket(client, id) : undefined;
  if (id !== "login") {
    troubles = () => new Failure("expired_host_session", "log in again");
    await send(client, "listTemplates");
  }
  troubles = () => trouble;
  try {
    return await send(client, id, {}, part);
  } finally {
    troubles = undefined;
  }
}

async function viaSdk(id: OperationId, pin: string | undefined): Promise<ErrorCode> {
  using client = connect({ url: server.url, pin, token: "x" });
  const method = client[id] as (input: object) => Promise<unknown>;
  const error = await method({ ...good[id], id: "x", ticket: "x", number: "1" })
    .then(
      async (answer) => {
        // A stream of events connects when it is read.
        if (id === "events") for await (const _event of answer as AsyncIterable<unknown>) break;
        throw new Error("no error");
      },
      (reason: unknown) => reason,
    )
    .catch((reason: unknown) => reason);
  if (error instanceof LabwrightError && error.status === 0) return error.code as ErrorCode;
  throw error;
}

/** While another change of the lab stands still in its first step. */
async function whileBusy(run: () => Promise<Answer>): Promise<Answer> {
  let [release, stood] = [() => {}, () => {}];
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const standing = new Promise<void>((resolve) => {
    stood = resolve;
  });
  hold = () => {
    stood();
    return held;
  };
  const other = await ann.post("/api/v1/projects/exec", { lab, action: "stop" }, { headers: { Prefer: "respond-async" } });
  try {
    const ended = await Promise.race([standing, jobEnds(other.json.data.job)]);
    if (ended !== undefined) throw new Error(`it did not stand still: ${ended.text}`);
    return await run();
  } finally {
    release();
    hold = undefined;
    await jobEnds(other.json.data.job);
  }
}

async function jobEnds(job: string): Promise<Answer> {
  for (;;) {
    const answer = await ann.get(`/api/v1/jobs/${job}`);
    if (answer.json.data.status !== "running") return answer;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function whileLocked(run: () => Promise<Answer>): Promise<Answer> {
  const session = (await host.resume!("ann"))!;
  await session.setLock(lab, true);
  try {
    return await run();
  } finally {
    for (const path of await session.labs()) await session.setLock(path, false);
  }
}

/** An import fails at its copy: it is made first, so that there is one. */
async function copy(): Promise<object> {
  const manifest = "version: 1\nmode: import\nlab: /copy\n";
  await send(ann, "importProject", { manifest });
  return { manifest, replace: true };
}

/** The answer of each operation on a connection whose request was begun when the server began to close. */
async function answersAtTheEnd(): Promise<ReadonlyMap<OperationId, Answer>> {
  const ending = await startServer({ service, certificate: { ...made, fingerprint: "" }, version: "1", graceMs: 60_000 });
  const client = new RawClient(ending.url);
  clients.push(client);
  const begun = await Promise.all(
    rows.map(async ([id, row]) => {
      const path = pathOf(row, "0".repeat(64));
      const upgrading = row.answer === "upgrade" ? `Connection: Upgrade\r\nUpgrade: ${row.protocol}\r\n` : "";
      const body = row.body === "none" ? "" : "Content-Type: application/json\r\nContent-Length: 2\r\n";
      // The whole answer to the first request shows that the beginning of the second was read.
      const connection = await client.secure(
        `GET /health HTTP/1.1\r\nHost: x\r\n\r\n${row.method} ${path} HTTP/1.1\r\nHost: x\r\n${upgrading}${body}Authorization: Bearer `,
      );
      await expect.poll(connection.heard).toContain('"ok":true');
      return { id, connection, rest: `${ann.token}\r\n\r\n${body === "" ? "" : "{}"}` };
    }),
  );
  const closed = ending.close();
  for (const { connection, rest } of begun) connection.socket.write(rest);
  const answers = await Promise.all(
    begun.map(async ({ id, connection }) => {
      await connection.ended();
      const heard = connection.heard();
      return [id, parsed(heard.slice(heard.indexOf("HTTP/1.1", 8)))] as const;
    }),
  );
  await closed;
  return new Map(answers);
}
let atTheEnd: ReturnType<typeof answersAtTheEnd> | undefined;

const bring: Readonly<Partial<Record<ErrorCode, Bring>>> = {
  tls_required: async (_id, row) => parsed(await ann.plain(`${row.method} ${pathOf(row)} HTTP/1.1\r\nHost: x\r\n\r\n`)),
  tls_untrusted: (id) => viaSdk(id, undefined),
  tls_pin_mismatch: (id) => viaSdk(id, "00".repeat(32)),
  bad_request: (_id, row) =>
    row.body === "json"
      ? ann.call(row.method, pathOf(row), { body: "{" })
      : raw(ann, `${row.method} ${pathOf(row)} HTTP/1.1\r\nConnection: close\r\nAuthorization: Bearer ${ann.token}\r\n\r\n`),
  overloaded: async (id) => {
    broken = Object.assign(new Error("EMFILE: too many open files, open '/x'"), { code: "EMFILE", syscall: "open" });
    try {
      return await send(ann, id);
    } finally {
      broken = undefined;
    }
  },
  internal: async (id) => {
    broken = new TypeError("a defect");
    try {
      return await send(ann, id);
    } finally {
      broken = undefined;
    }
  },
  unauthenticated: (id, row) => {
    const stranger = new RawClient(server.url);
    clients.push(stranger);
    // It needs no token, but refuses a wrong one.
    if (id === "finishLogin") stranger.token = "wrong";
    return row.answer === "upgrade" ? upgrade(stranger, pathOf(row, "0".repeat(64)), row.protocol!) : send(stranger, id);
  },
  expired_agent_session: async (id) => {
    const client = await signIn("bob");
    const before = time.now;
    time.now += 13 * 3_600_000;
    try {
      return await send(client, id);
    } finally {
      time.now = before;
    }
  },
  expired_host_session: async (id) => {
    const client = await signIn(userOf(id));
    const part = ofNodes.has(id) ? await ticket(client, id) : undefined;
    troubles = () => new Failure("expired_host_session", "log in again");
    await send(client, "listTemplates");
    troubles = undefined;
    resumable = false;
    try {
      return await send(client, id, {}, part);
    } finally {
      resumable = true;
    }
  },
  shutting_down: async (id) => {
    atTheEnd ??= answersAtTheEnd();
    return (await atTheEnd).get(id)!;
  },
  host_error: (id) => onTrouble(id, new Failure("host_error", "out of order", { data: { host: { message: "out of order" } } })),
  host_unreachable: (id) => onTrouble(id, new Failure("host_unreachable", "away")),
  host_timeout: (id) => onTrouble(id, new Failure("host_timeout", "silent")),
  payload_too_large: (_id, row) =>
    raw(
      ann,
      `${row.method} ${pathOf(row)} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann.token}\r\nContent-Type: application/json\r\nContent-Length: 900000000\r\n\r\n`,
    ),
  unsupported_media_type: (_id, row) => ann.call(row.method, pathOf(row), { body: "x", headers: { "Content-Type": "text/plain" } }),
  field_not_allowed: (id) => send(by(id), id, { dir: "/tmp" }),
  unknown_field: (id) => send(ann, id, { extra: 1 }),
  invalid_credentials: (id) => send(ann, id, id === "login" ? { password: "wrong" } : {}),
  invalid_intent: async (id) => {
    if (id !== "importProject") return send(ann, id, { yaml: "name: [" });
    // Its intent is what the source is on the host: here with a template that the host has no more.
    lacks = ["screen"];
    try {
      return await send(ann, id);
    } finally {
      lacks = [];
    }
  },
  invalid_source: (id) => send(ann, id, { text: "no lab" }),
  invalid_direction: (id) => send(ann, id, { direction: "sideways" }),
  invalid_action: (id) => send(ann, id, { action: "dance" }),
  lab_not_found: async (id) => {
    if (ofNodes.has(id)) {
      const given = await ticket(ann, id);
      const other = await ticket(ann, id);
      await send(ann, "destroyProject");
      const answer = await send(ann, id, {}, given);
      await deploy();
      return answer.json.code === "lab_not_found" ? answer : send(ann, id, {}, other);
    }
    const { yaml: _yaml, ...rest } = { ...good[id] };
    const row: OperationRow = operations[id];
    const absent = { ...rest, lab: "/absent" };
    if (row.body === "json") return by(id).call(row.method, pathOf(row), { body: JSON.stringify(absent) });
    return send(ann, id, { lab: "/absent" });
  },
  operation_not_allowed: async (id) => {
    if (id === "cancelJob") return send(ann, id, {}, await endedJob());
    if (id === "getMetrics") return send(ann, id);
    if (["createToken", "listTokens", "revokeToken"].includes(id)) {
      const { token } = (await send(ann, "createToken")).json.data;
      const program = new RawClient(server.url, token);
      clients.push(program);
      return send(program, id);
    }
    if (ofNodes.has(id)) {
      const bob = await signIn("bob");
      await send(ann, "setLabGrants", { grants: [{ user: "bob", right: "operate" }] });
      const part = await ticket(bob, id);
      await send(ann, "setLabGrants", { grants: [{ user: "bob", right: "view" }] });
      const answer = await send(bob, id, {}, part);
      await send(ann, "setLabGrants", { grants: [] });
      return answer;
    }
    if (["getLabGrants", "events", "getPicture", "listQuotas", "removeReservation"].includes(id)) {
      const { token } = (await send(ann, "createToken", { labs: ["/other"] })).json.data;
      const program = new RawClient(server.url, token);
      clients.push(program);
      return send(program, id, { lab });
    }
    const byViewer = await send(eve, id);
    if (byViewer.status === 403) return byViewer;
    const loaded = await send(ann, id, { manifest: load });
    // The host may refuse an operation to this user that the service allows.
    return loaded.status === 403 ? loaded : onTrouble(id, new Failure("operation_not_allowed", "the host does not allow it"));
  },
  lab_busy: (id) => whileBusy(() => send(by(id), id)),
  lab_locked: async (id) => {
    const fields = id === "importProject" ? await copy() : {};
    if (id !== "importProject") return whileLocked(() => send(ann, id, fields));
    const session = (await host.resume!("ann"))!;
    await session.setLock("/copy", true);
    try {
      return await send(ann, id, fields);
    } finally {
      await session.setLock("/copy", false);
    }
  },
  lab_locked_mid_apply: async (id) => {
    const session = (await host.resume!("ann"))!;
    let path = lab;
    hold = async () => {
      for (path of await session.labs()) await session.setLock(path, true);
    };
    try {
      return await send(ann, id);
    } finally {
      hold = undefined;
      for (const each of await session.labs()) await session.setLock(each, false);
    }
  },
  cancelled: async (id, row) => {
    let stood = () => {};
    const standing = new Promise<void>((resolve) => {
      stood = resolve;
    });
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    hold = () => {
      stood();
      return held;
    };
    if (row.errors.includes("link_not_found") || id === "saveConfigs") looking = () => hold!(undefined as never) as Promise<void>;
    const key = { "Idempotency-Key": `cancel-${id}` };
    const { job } = (await send(ann, id, {}, undefined, { ...key, Prefer: "respond-async" })).json.data;
    await Promise.race([standing, jobEnds(job)]);
    await send(ann, "cancelJob", {}, job);
    release();
    hold = undefined;
    looking = undefined;
    await jobEnds(job);
    // The same change again returns the outcome of the first.
    return send(ann, id, {}, undefined, key);
  },
  lab_exists: async (id) => send(by(id), id, id === "importProject" ? { ...(await copy()), replace: false } : { replace: false }),
  plan_stale: (id) =>
    send(
      ann,
      id,
      id === "editProject" ? { revision: "old" } : { plan_identity: "old", ...(id === "reconcileProject" && { confirm: true }) },
    ),
  node_not_found: async (id) => {
    if (id === "execConsoleMany") return send(ann, id, { targets: [{ node: "nobody", command: "x" }] });
    if (!ofNodes.has(id)) return send(ann, id, { node: "nobody" });
    const part = await ticket(ann, id);
    await send(ann, "reconcileProject", { yaml: "name: wire\nnodes:\n  h1: {template: linux}\n", prune: true });
    const { json } = await send(ann, "planProject", { yaml: "name: wire\nnodes:\n  h1: {template: linux}\n", prune: true });
    const body = {
      yaml: "name: wire\nnodes:\n  h1: {template: linux}\n",
      prune: true,
      confirm: true,
      plan_identity: json.data.plan_identity,
    };
    await send(ann, "reconcileProject", body);
    return send(ann, id, {}, part);
  },
  node_not_running: async (id) => {
    const part = ofNodes.has(id) ? await ticket(ann, id) : undefined;
    await send(ann, "execProject", { node: "r1" });
    return send(ann, id, {}, part);
  },
  link_not_found: (id) => send(ann, id, { endpoints: ["r1:eth0", "r1:eth7"] }),
  template_not_found: (id, row) =>
    row.body === "json" ? send(ann, id, { yaml: "name: x\nnodes: {a: {template: nope}}\n" }) : send(ann, id, {}, "nope"),
  history_not_found: (id) => send(ann, id, { serial: 999_999 }),
  capture_not_found: (id) => send(ann, id, {}, "nope"),
  job_not_found: (id) => send(ann, id, {}, "nope"),
  reservation_not_found: (id) => send(ann, id),
  session_exists: async () => {
    const link = (await send(ann, "openProject")).json.data.url as string;
    const cookie = cookieIn(await eve.post("/api/v1/browser/session", {})).header;
    return ann.post("/api/v1/browser/session", { ticket: link.split("#ticket=")[1] }, { bearer: null, headers: { Cookie: cookie } });
  },
  browser_token_invalid: (id) => send(ann, id, { ticket: "0".repeat(64) }, "0".repeat(64)),
  unsupported: async (id, row) => {
    if (id === "streamConsole") {
      const part = await ticket(ann, id);
      // Since then the node has become one without a console.
      await send(ann, "deployProject", { yaml: yaml.replace("r1: {template: frr}", "r1: {template: switch}"), replace: true });
      return send(ann, id, {}, part);
    }
    if (row.path.includes("/console/"))
      return send(ann, id, id === "execConsoleMany" ? { targets: [{ node: "v1", command: "x" }] } : { node: "v1" });
    if (row.feature !== undefined) lacks = [row.feature];
    else if (id === "execProject") lacks = ["wipe"];
    else
      hold = () => {
        throw new Failure("unsupported", "no nat here", { data: { feature: "nat" } });
      };
    try {
      return await send(by(id), id, id === "execProject" ? { action: "wipe" } : {});
    } finally {
      lacks = [];
      hold = undefined;
    }
  },
  rate_limited: async (id) => {
    if (id === "login") {
      const stranger = new RawClient(server.url);
      clients.push(stranger);
      for (let count = 0; count < 6; count++) await send(stranger, id, { username: "guessed", password: "wrong" });
      return send(stranger, id, { username: "guessed", password: "wrong" });
    }
    const client = await signIn("ann");
    for (let count = 0; count < (id === "attachProcess" || id === "copyFiles" ? 1_200 : 120); count++) await send(client, id);
    return send(client, id);
  },
  console_in_use: async (id) => {
    const other = await signIn("ann");
    const done = new AbortController();
    const body = JSON.stringify({ ...good.runConsole, steps: [{ send: "x\r", expect: "what never comes", timeout_ms: 60_000 }] });
    const dialogue = other.call("POST", operations.runConsole.path, { body, signal: done.signal }).catch(() => undefined);
    const brief = id === "runConsole" ? { steps: [{ send: "x\r", timeout_ms: 50 }] } : { timeout_ms: 50 };
    let answer = await send(ann, id, brief);
    // The dialogue may not have begun yet.
    for (let tries = 0; answer.status === 200 && tries < 200; tries++) answer = await send(ann, id, brief);
    done.abort();
    await dialogue;
    return answer;
  },
  console_timeout: (id) =>
    send(
      ann,
      id,
      id === "runConsole"
        ? { steps: [{ send: "x\r", expect: "what never comes", timeout_ms: 50 }] }
        : { command: "sleep 60", timeout_ms: 50 },
    ),
};

async function endedJob(): Promise<string> {
  const { job } = (await ann.post("/api/v1/projects/exec", { lab, action: "start" }, { headers: { Prefer: "respond-async" } })).json.data;
  await jobEnds(job);
  return job;
}

/** The rest of what operations of features that the memory host has not may give is shown in each-error-packets.extended.test.ts. */
const ofAll: readonly ErrorCode[] = [...commonErrors, "unauthenticated", "expired_agent_session", "unsupported"];
const features: Readonly<Record<string, boolean>> = { ...memoryFeatures, events: true, jobs: true, resume: true };
const listed = rows.flatMap(([id, row]) =>
  [...new Set<ErrorCode>([...commonErrors, ...row.errors])]
    .filter((code) => row.feature === undefined || features[row.feature] === true || ofAll.includes(code))
    .map((code) => ({ id, row, code, pair: `${id} ${code}` })),
);
/** Their rate_limited is that of tickets and logins, and brought about here. */
const ticketed: ReadonlySet<OperationId> = new Set(["login", "openProject", "attachConsole", "attachProcess", "copyFiles"]);
/** The fault that stops a resume in its first step: it needs a node that is down. */
const stops: ReadonlySet<ErrorCode> = new Set(["lab_locked_mid_apply", "cancelled"]);
const codes = [...new Set(listed.map(({ code }) => code))];

describe("each code is given by each operation that lists it", () => {
  test.each(codes)("%s", async (code) => {
    const missed: string[] = [];
    for (const { id, row, pair } of listed.filter((each) => each.code === code)) {
      if (elsewhere[pair] !== undefined || (elsewhere[`* ${code}`] !== undefined && !(code === "rate_limited" && ticketed.has(id))))
        continue;
      const how = bring[code];
      if (how === undefined) {
        missed.push(`${pair}: nothing brings it about`);
        continue;
      }
      if (id === "resumeLab" && stops.has(code)) await send(ann, "execProject");
      const answer = await how(id, row);
      const given = typeof answer === "string" ? answer : (answer.json?.code ?? answer.json?.data?.results?.[0]?.code);
      if (given !== code) missed.push(`${pair}: ${typeof answer === "string" ? answer : `${answer.status} ${answer.text.slice(0, 160)}`}`);
      else if (typeof answer !== "string" && answer.json.ok === false && answer.status !== errors[code].status)
        missed.push(`${pair}: status ${answer.status}`);
      if (row.change || id === "applyLinkQuality" || id === "setLinkSuspend" || code === "lab_busy" || code.startsWith("node_"))
        await deploy();
    }
    expect(missed).toEqual([]);
  });

  test("except those with a stated reason", () => {
    const pairs = new Set(listed.flatMap(({ pair, code }) => [pair, `* ${code}`]));
    expect(Object.keys(elsewhere).filter((pair) => !pairs.has(pair))).toEqual([]);
  });
});
