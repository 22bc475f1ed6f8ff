import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { errors, Failure } from "../../src/contract/errors.ts";
import { type OperationId, type OperationRow, operations } from "../../src/contract/operations.ts";
import type { Operation } from "../../src/engine/model/plan.ts";
import type { Host } from "../../src/hosts/host.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import { startServer } from "../../src/server/start.ts";
import { fingerprintOf } from "../../src/server/tls/certificate.ts";
import { selfSigned } from "../../src/server/tls/self-signed.ts";
import { createService } from "../../src/service/create-service.ts";
import { sqliteStore } from "../../src/service/store/sqlite.ts";
import { type Answer, RawClient } from "./raw-client.ts";

/** The promises of API v1 about sessions, errors, addressing and diagnostics, case by case, over the wire. */

const hour = 3_600_000;
const day = 24 * hour;
const yaml = 'name: wire\nnodes:\n  r1: {template: frr}\n  h1: {template: linux}\nlinks:\n  - ["r1:eth0", "h1:eth0"]\n';
const grown = yaml.replace("links:", "  h2: {template: linux}\nlinks:");
const lab = "/wire";

interface Bench {
  readonly host: Host;
  readonly url: string;
  /** The service's time, ms. */
  readonly time: { now: number };
  /** Called before each host step. */
  step: (operation: Operation) => void | Promise<void>;
  as(user: string): Promise<RawClient>;
  stranger(): RawClient;
  close(): Promise<void>;
}

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

const users = [
  { name: "admin", password: "admin", role: "admin" },
  { name: "ann", password: "ann", role: "user" },
  { name: "bob", password: "bob", role: "user" },
  { name: "eve", password: "eve", role: "viewer" },
] as const;

const made = selfSigned({ names: ["localhost"], from: new Date(Date.now() - 1000), until: new Date(Date.now() + 1e9) });

async function start(options: { readonly host?: (host: Host) => Host; readonly database?: string } = {}): Promise<Bench> {
  const hook: { step: Bench["step"] } = { step: () => {} };
  const time = { now: Date.now() };
  const memory = memoryHost({ users, beforeStep: (_lab, operation) => hook.step(operation) });
  const host = options.host?.(memory) ?? memory;
  const store = sqliteStore(options.database ?? ":memory:");
  const service = createService({ host, store, clock: { now: () => time.now }, log: () => {}, version: "1.2.3" });
  const server = await startServer({
    service,
    certificate: { ...made, fingerprint: fingerprintOf(made.certificate) },
    version: "1.2.3",
    graceMs: 200,
  });
  const clients: RawClient[] = [];
  const stranger = () => {
    const client = new RawClient(server.url);
    clients.push(client);
    return client;
  };
  let closing: Promise<void> | undefined;
  const close = async () => {
    for (const client of clients) client[Symbol.dispose]();
    await server.close();
    await service.close();
    await host.close();
  };
  const bench: Bench = {
    host,
    url: server.url,
    time,
    get step() {
      return hook.step;
    },
    set step(step) {
      hook.step = step;
    },
    stranger,
    as: async (user) => {
      const client = stranger();
      const { json } = await client.post("/api/v1/login", { username: user, password: user });
      client.token = json.data.token;
      return client;
    },
    close: () => {
      closing ??= close();
      return closing;
    },
  };
  open.push(bench);
  return bench;
}

const call = (client: RawClient, id: OperationId, body: unknown) => client.post(operations[id].path, body);
const outcome = ({ status, json }: Answer) => (status === 200 ? 200 : `${status} ${json.code}`);
const session = async (client: RawClient) => outcome(await client.get("/api/v1/session"));

/** The raw connection of a console, once it is granted. */
async function openConsole(client: RawClient, node: string) {
  const { json } = await call(client, "attachConsole", { lab, node });
  const stream = await client.secure(streamRequest(json.data.stream, client.token));
  await expect.poll(stream.heard).toMatch(/^HTTP\/1\.1 101 /);
  return stream;
}

function streamRequest(ticket: string, token: string | null): string {
  return `GET /api/v1/console/stream/${ticket} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: host-telnet\r\n\r\n`;
}

describe("a token", () => {
  test("that is idle for 12 hours has expired, for 7 days, and is unknown after that", async () => {
    const bench = await start();
    const ann = await bench.as("ann");
    bench.time.now += 11 * hour;
    expect(await session(ann)).toBe(200);
    bench.time.now += 11 * hour;
    expect(await session(ann)).toBe(200);
    bench.time.now += 12 * hour;
    const expired = await ann.get("/api/v1/session");
    expect([outcome(expired), expired.headers["www-authenticate"]]).toEqual(["401 expired_agent_session", "Bearer"]);
    bench.time.now += 7 * day - hour;
    expect(await session(ann)).toBe("401 expired_agent_session");
    bench.time.now += hour;
    expect(await session(ann)).toBe("401 unauthenticated");
  });

  test("ends 7 days after its login, however busy it is", async () => {
    const bench = await start();
    const ann = await bench.as("ann");
    for (let hours = 0; hours < 7 * 24; hours += 8) {
      expect(await session(ann)).toBe(200);
      bench.time.now += 8 * hour;
    }
    expect(await session(ann)).toBe("401 expired_agent_session");
  });

  test("that was revoked is unknown, not expired, and every stream opened with it ends", async () => {
    const bench = await start();
    const [ann, other] = [await bench.as("ann"), await bench.as("ann")];
    await call(ann, "deployProject", { lab, yaml });
    const streams = [await openConsole(ann, "r1"), await openConsole(ann, "h1")];
    const kept = await openConsole(other, "r1");
    expect(outcome(await call(ann, "logout", {}))).toBe(200);
    await Promise.all(streams.map((stream) => stream.ended()));
    expect(kept.socket.destroyed).toBe(false);
    kept.socket.destroy();
    expect([await session(ann), await session(other)]).toEqual(["401 unauthenticated", 200]);
    bench.time.now += 13 * hour;
    expect(await session(ann)).toBe("401 unauthenticated");
  });

  test("outlives the service; where the host does not, a call that needs it says so, and a new login mends it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "labwright-wire-"));
    try {
      const database = join(folder, "labwright.db");
      const first = await start({ database });
      const { token } = await first.as("ann");
      await first.close();
      const second = await start({ database, host: ({ resume: _resume, ...host }) => host });
      const ann = second.stranger();
      ann.token = token;
      expect(await session(ann)).toBe(200);
      const refused = await ann.get("/api/v1/templates");
      expect([outcome(refused), refused.headers["www-authenticate"]]).toEqual(["401 expired_host_session", "Bearer"]);
      expect(outcome(await (await second.as("ann")).get("/api/v1/templates"))).toBe(200);
      await second.close();
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("login", () => {
  test("is slowed down after wrong passwords, says for how long, and echoes nothing", async () => {
    const bench = await start();
    const client = bench.stranger();
    const tries: Answer[] = [];
    for (let count = 0; count < 7; count++) tries.push(await client.post("/api/v1/login", { username: "ann", password: "guess-4711" }));
    expect(tries.map(outcome).at(0)).toBe("401 invalid_credentials");
    const last = tries.at(-1)!;
    expect([outcome(last), last.headers["retry-after"]]).toEqual(["429 rate_limited", expect.stringMatching(/^[1-9]\d*$/)]);
    expect(tries.map(({ text }) => text).join()).not.toContain("guess-4711");
    // Also with the right password now: otherwise the answers would distinguish right from wrong guesses.
    expect(outcome(await client.post("/api/v1/login", { username: "ann", password: "ann" }))).toBe("429 rate_limited");
    bench.time.now += Number(last.headers["retry-after"]) * 1000;
    expect(outcome(await client.post("/api/v1/login", { username: "ann", password: "ann" }))).toBe(200);
  });

  test("at a host that is away is 503 with Retry-After, and the request id stands in header and data", async () => {
    const away = new Failure("host_unreachable", "the host is away");
    const bench = await start({ host: (host) => ({ ...host, login: () => Promise.reject(away) }) });
    const answer = await bench.stranger().post("/api/v1/login", { username: "ann", password: "ann" });
    expect([outcome(answer), answer.headers["retry-after"]]).toEqual(["503 host_unreachable", expect.stringMatching(/^[1-9]\d*$/)]);
    expect(answer.json.data.request_id).toBe(answer.headers["x-request-id"]);
  });
});

describe("a ticket", () => {
  test("is good once, for 30 seconds, and for the session that it was given to", async () => {
    const bench = await start();
    const [ann, other] = [await bench.as("ann"), await bench.as("ann")];
    await call(ann, "deployProject", { lab, yaml });
    const ticket = async () => (await call(ann, "attachConsole", { lab, node: "r1" })).json.data.stream as string;
    const refused = async (given: string, client = ann) => {
      const stream = await client.secure(streamRequest(given, client.token));
      await stream.ended();
      return /^HTTP\/1\.1 (\d+) .*"code":"(\w+)"/s.exec(stream.heard())?.slice(1).join(" ");
    };
    const foreign = await ticket();
    expect(await refused(foreign, other)).toBe("403 browser_token_invalid");
    expect(await refused("f".repeat(64))).toBe("403 browser_token_invalid");
    expect(await refused((await ticket()).toUpperCase())).toBe("403 browser_token_invalid");
    const late = await ticket();
    bench.time.now += 30_000;
    expect(await refused(late)).toBe("403 browser_token_invalid");
    const used = await ticket();
    const stream = await ann.secure(streamRequest(used, ann.token));
    await expect.poll(stream.heard).toMatch(/^HTTP\/1\.1 101 /);
    expect(await refused(used)).toBe("403 browser_token_invalid");
    stream.socket.destroy();
  });
});

describe("who may", () => {
  test("another user's lab is answered like one that is not there; a viewer changes nothing", async () => {
    const bench = await start();
    const [ann, bob, eve] = [await bench.as("ann"), await bench.as("bob"), await bench.as("eve")];
    await call(ann, "deployProject", { lab, yaml });
    for (const id of ["getProjectStatus", "inspectProject", "listProjectConsoles", "destroyProject"] as const) {
      const hidden = await call(bob, id, { lab });
      const absent = await call(bob, id, { lab: "/elsewhere" });
      expect([outcome(hidden), outcome(absent)]).toEqual(["404 lab_not_found", "404 lab_not_found"]);
      expect(hidden.json.error.replace(lab, "/elsewhere")).toBe(absent.json.error);
    }
    expect(outcome(await call(eve, "deployProject", { lab: "/eves", yaml }))).toBe("403 operation_not_allowed");
  });
});

describe("a change", () => {
  test("of a lab that is being changed is lab_busy, with who does what, and when to come back", async () => {
    const bench = await start();
    const ann = await bench.as("ann");
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    bench.step = () => held;
    const first = await ann.post(operations.deployProject.path, { lab, yaml }, { headers: { Prefer: "respond-async" } });
    expect(first.json.data.job).toEqual(expect.any(String));
    const second = await call(ann, "destroyProject", { lab });
    expect([outcome(second), second.headers["retry-after"]]).toEqual(["409 lab_busy", expect.stringMatching(/^[1-9]\d*$/)]);
    const { operation } = second.json.data;
    expect(Object.keys(operation)).toEqual(expect.arrayContaining(["name", "user", "started_at", "step", "steps"]));
    expect(operation).toMatchObject({
      name: "deployProject",
      user: "ann",
      started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    expect((await call(ann, "getProjectStatus", { lab })).json.data.operation).toMatchObject({ name: "deployProject", user: "ann" });
    release();
    await expect.poll(async () => (await call(ann, "getProjectStatus", { lab })).json.data.operation).toBeUndefined();
  });

  test("of a locked lab is lab_locked; a change that meets a lock stops after the step in flight and lists the finished steps", async () => {
    const bench = await start();
    const ann = await bench.as("ann");
    await call(ann, "deployProject", { lab, yaml });
    const host = (await bench.host.resume?.("ann"))!;
    await host.setLock(lab, true);
    expect(outcome(await call(ann, "reconcileProject", { lab, yaml: grown }))).toBe("423 lab_locked");
    expect((await call(ann, "planProject", { lab, yaml: grown })).json.data).toMatchObject({ locked: true, applicable: false });
    await host.setLock(lab, false);
    bench.step = async ({ step }) => {
      if (step.do === "create-node") await host.setLock(lab, true);
    };
    const stopped = await call(ann, "reconcileProject", { lab, yaml: grown });
    expect(outcome(stopped)).toBe("423 lab_locked_mid_apply");
    expect(stopped.json.data.applied.length).toBeGreaterThan(0);
    expect(stopped.json.data.remaining.length).toBeGreaterThan(0);
  });

  test("that the host breaks is host_error, in the host's words, with what is done, broken and left", async () => {
    const bench = await start();
    const ann = await bench.as("ann");
    const words = { status: 500, code: "E42", message: "disk full" };
    bench.step = ({ step }) => {
      if (step.do === "create-link") throw new Failure("host_error", "the host broke a step", { data: { host: words } });
    };
    const broken = await call(ann, "deployProject", { lab, yaml });
    expect(outcome(broken)).toBe("502 host_error");
    const { host, applied, failed, remaining, request_id } = broken.json.data;
    expect([host, request_id]).toEqual([words, broken.headers["x-request-id"]]);
    expect(applied.length).toBeGreaterThan(0);
    expect(failed).toMatchObject([{ kind: "link" }]);
    expect(remaining.length).toBeGreaterThan(0);
  });
});

describe("a console", () => {
  test("of a stopped node, of a busy one, and of one that does not answer, have different codes", async () => {
    const bench = await start();
    const ann = await bench.as("ann");
    await call(ann, "deployProject", { lab, yaml });
    await call(ann, "execProject", { lab, action: "stop", node: "h1" });
    for (const id of ["execConsole", "attachConsole"] as const) {
      expect(outcome(await call(ann, id, { lab, node: "h1", command: "x" }))).toBe("409 node_not_running");
    }
    const other = await bench.as("ann");
    const steps = [{ send: "over here\r", expect: "what never comes", timeout_ms: 1000 }];
    const dialogue = call(other, "runConsole", { lab, node: "r1", steps });
    await expect
      .poll(async () => outcome(await call(ann, "execConsole", { lab, node: "r1", command: "x", timeout_ms: 50 })))
      .toBe("409 console_in_use");
    const silent = await dialogue;
    expect(outcome(silent)).toBe("504 console_timeout");
    expect(silent.json.data.output).toContain("over here");
    expect(silent.json.data.request_id).toBe(silent.headers["x-request-id"]);
  });
});

test("capabilities name every feature and, for each project mode, everything that may be done", async () => {
  const bench = await start();
  const { features, projectModes } = (await (await bench.as("ann")).get("/api/v1/capabilities")).json.data;
  const promised =
    "linkQuality linkSuspend capture traffic consoleStream consoleRun wipe hibernate gracefulStop hotPlug lock importLab nat kvm events webUi jobs checkpoints";
  expect(features).toMatchObject(Object.fromEntries(promised.split(" ").map((name) => [name, expect.any(Boolean)])));
  const deeds =
    "validate plan deploy reconcileToHost reconcileFromHost destroy status inspect open consoles start stop wipe quality suspend capture traffic edit";
  const flags = Object.fromEntries(deeds.split(" ").map((name) => [name, expect.any(Boolean)]));
  expect(Object.keys(projectModes).sort()).toEqual(["create", "import", "load"]);
  for (const mode of Object.values(projectModes)) expect(mode).toMatchObject({ ...flags, stopModes: expect.any(Array) });
});

test("a feature that is false in the capabilities is unsupported by every operation that needs it, and named", async () => {
  const bench = await start();
  const ann = await bench.as("ann");
  await call(ann, "deployProject", { lab, yaml });
  const admin = await bench.as("admin");
  const { features } = (await ann.get("/api/v1/capabilities")).json.data;
  const bodies: Readonly<Partial<Record<OperationId, object>>> = {
    applyLinkQuality: { endpoints: ["r1:eth0", "h1:eth0"] },
    setLinkSuspend: { endpoints: ["r1:eth0", "h1:eth0"], suspended: true },
    startCapture: { node: "r1", interface: "eth0" },
    setLabLock: { locked: true },
    setLabResume: { resume: "always" },
    restoreSnapshot: { snapshot: "x" },
    removeSnapshot: { snapshot: "x" },
    importDisks: { disks: [] },
    setHostUser: { user: "cat", role: "user" },
    removeHostUser: { user: "cat" },
  };
  for (const [id, row] of Object.entries(operations) as [OperationId, OperationRow][]) {
    if (row.feature === undefined) continue;
    expect(features, id).toHaveProperty(row.feature);
    if (features[row.feature] || row.answer === "upgrade") continue;
    const path = row.path.replaceAll("{number}", "1").replaceAll(/\{\w+\}/g, "x");
    // Transfers of disks are addressed by their id alone.
    const isTransfer = path.startsWith("/api/v1/disks/transfers/");
    const part = { node: "r1", offset: 0, base64: "" };
    const body = isTransfer ? row.body === "json" && { body: JSON.stringify(part) } : { body: JSON.stringify({ lab, ...bodies[id] }) };
    const caller = /HostUsers?$/.test(id) ? admin : ann;
    const answer = await (row.method === "GET"
      ? caller.get(isTransfer ? `${path}?node=r1` : `${path}?lab=${lab}`)
      : caller.call(row.method, path, body || {}));
    expect([id, outcome(answer), answer.json.data?.feature]).toEqual([id, "422 unsupported", row.feature]);
  }
});

describe("addressing a project", () => {
  const nine = "/1/2/3/4/5/6/7/8/9";
  test.each<[string, object, string]>([
    ["a lab path with ..", { lab: "/a/../b", yaml }, "/lab"],
    ["a lab path of nine parts", { lab: nine, yaml }, "/lab"],
    ["a lab path with a part of 65 characters", { lab: `/${"x".repeat(65)}`, yaml }, "/lab"],
    ["a lab path with other characters", { lab: "/a:b", yaml }, "/lab"],
    ["no lab at all", {}, "/lab"],
    ["an absolute file path", { yaml, files: { "/etc/passwd": "" } }, "/files"],
    ["a file path with ..", { yaml, files: { "a/../../b": "" } }, "/files"],
    ["a file path with NUL", { yaml, files: { "a\u0000b": "" } }, "/files"],
    ["two file paths that are one", { yaml, files: { "a/b": "", "a//b": "" } }, "/files"],
    ["a state of an unknown version", { yaml, state: { version: 2 } }, "/state"],
    ["a state that is none", { yaml, state: 7 }, "/state"],
    ["a manifest that is not a map", { yaml, manifest: "[]" }, "/manifest"],
    ["null where a type is given", { lab: null, yaml }, "/lab"],
    ["a number as yaml", { yaml: 1 }, "/yaml"],
  ])("%s is bad_request and says where", async (_what, body, path) => {
    const bench = await start();
    const answer = await call(await bench.as("ann"), "planProject", body);
    expect(outcome(answer)).toBe("400 bad_request");
    expect(answer.json.data.problems[0]).toEqual({ path: expect.stringContaining(path), message: expect.any(String) });
  });

  test("a state is taken back as it was given, and refused for another lab", async () => {
    const bench = await start();
    const ann = await bench.as("ann");
    const { state } = (await call(ann, "deployProject", { lab, yaml })).json.data;
    expect(state).toMatchObject({ version: 1, lab: { path: lab }, nodes: { r1: { name: "r1" } } });
    expect(outcome(await call(ann, "planProject", { lab, yaml, state }))).toBe(200);
    expect(outcome(await call(ann, "planProject", { lab, yaml, state: null }))).toBe(200);
    expect(outcome(await call(ann, "planProject", { lab: "/other", yaml, state }))).toBe("400 bad_request");
  });
});

describe("a value", () => {
  const endpoints = ["r1:eth0", "h1:eth0"];
  test.each<[OperationId, object, object, string]>([
    ["applyLinkQuality", { endpoints, a: { delay: 10_000, jitter: 10_000 } }, { endpoints, a: { delay: 10_001 } }, "/a/delay"],
    ["applyLinkQuality", { endpoints, b: { jitter: 0 } }, { endpoints, b: { jitter: -1 } }, "/b/jitter"],
    ["applyLinkQuality", { endpoints, a: { loss: 100 } }, { endpoints, a: { loss: 100.5 } }, "/a/loss"],
    ["applyLinkQuality", { endpoints, b: { bandwidth: 10_000_000 } }, { endpoints, b: { bandwidth: 10_000_001 } }, "/b/bandwidth"],
    ["applyLinkQuality", { endpoints }, { endpoints: [...endpoints, "r1:eth1"] }, "/endpoints"],
    ["setLinkSuspend", { endpoints, suspended: false, side: "b" }, { endpoints, suspended: false, side: "c" }, "/side"],
    [
      "execConsole",
      { node: "h1", command: "hostname", timeout_ms: 600_000 },
      { node: "h1", command: "x", timeout_ms: 600_001 },
      "/timeout_ms",
    ],
    [
      "execConsoleMany",
      { targets: [{ node: "h1", command: "hostname", timeout_ms: 600_000 }] },
      { targets: [{ node: "h1", timeout_ms: 0 }] },
      "/targets/0/timeout_ms",
    ],
    [
      "runConsole",
      { node: "h1", steps: [{ send: "x", timeout_ms: 600_000 }] },
      { node: "h1", steps: [{ timeout_ms: 600_001 }] },
      "/steps/0/timeout_ms",
    ],
  ])("at the edge of its range is taken by %s: %j; beyond it, %j, it is bad_request at its place", async (id, within, beyond, path) => {
    const bench = await start();
    const ann = await bench.as("ann");
    await call(ann, "deployProject", { lab, yaml });
    expect(outcome(await call(ann, id, { lab, ...within }))).toBe(200);
    const refused = await call(ann, id, { lab, ...beyond });
    expect([outcome(refused), refused.json.data.problems[0].path]).toEqual(["400 bad_request", path]);
  });
});

describe("diagnostics", () => {
  test("name every problem with its place, and the text points at it", async () => {
    const bench = await start();
    const ann = await bench.as("ann");
    const wrong = "name: wire\nnodes:\n  r1: {template: frr, imgae: x}\n  h1: {template: linux, cpu: -1}\n";
    const answer = await call(ann, "validateProject", { yaml: wrong });
    expect(outcome(answer)).toBe("422 invalid_intent");
    expect(answer.json.error).toMatch(/^ +3 \| .*imgae.*\n +\| +\^+$/m);
    expect(answer.json.data.diagnostics).toMatchObject([
      {
        severity: "error",
        code: "unknown_key",
        path: "/nodes/r1/imgae",
        line: 3,
        column: 23,
        end_line: 3,
        end_column: 28,
        hint: expect.stringContaining("image"),
      },
      { severity: "error", code: "out_of_range", path: "/nodes/h1/cpu", line: 4 },
    ]);
  });

  test("of a valid intent are its warnings", async () => {
    const bench = await start();
    const ann = await bench.as("ann");
    expect((await call(ann, "validateProject", { yaml })).json.data).toEqual({ status: "valid", warnings: [] });
    const { status, warnings } = (
      await call(ann, "validateProject", { yaml: yaml.replace("{template: linux}", "{template: linux, healthcheck: {}}") })
    ).json.data;
    expect([status, warnings]).toMatchObject(["valid", [{ severity: "warning", code: "ignored_key" }]]);
  });
});

test("every code of the table that a service can answer has the status of the specification", () => {
  const specified: Readonly<Record<number, string>> = {
    400: "bad_request unknown_field field_not_allowed invalid_direction invalid_action",
    401: "unauthenticated expired_agent_session expired_host_session invalid_credentials",
    403: "operation_not_allowed browser_token_invalid",
    404: "not_found lab_not_found node_not_found link_not_found template_not_found capture_not_found job_not_found",
    405: "method_not_allowed",
    409: "lab_exists plan_stale lab_busy node_not_running console_in_use capture_limit",
    413: "payload_too_large",
    415: "unsupported_media_type",
    422: "invalid_intent unsupported",
    423: "lab_locked lab_locked_mid_apply",
    426: "tls_required",
    429: "rate_limited",
    500: "internal",
    502: "host_error",
    503: "host_unreachable",
    504: "host_timeout console_timeout",
    0: "tls_untrusted tls_pin_mismatch",
  };
  const expected = Object.entries(specified).flatMap(([status, codes]) => codes.split(" ").map((code) => [code, Number(status)]));
  expect(Object.fromEntries(Object.entries(errors).map(([code, { status }]) => [code, status]))).toMatchObject(
    Object.fromEntries(expected),
  );
});
