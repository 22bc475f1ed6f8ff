import { createServer, type Server } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, test } from "vitest";
import { selfSigned } from "../../test/self-signed.ts";
import { type OperationId, operations } from "../contract/operations.ts";
import { connect, type LabwrightClient, LabwrightError, type ResultOf } from "./index.ts";

interface Seen {
  readonly line: string;
  readonly authorization: string | undefined;
  readonly prefer: string | undefined;
  readonly key?: string;
  readonly body: unknown;
}
type Reply = {
  status?: number;
  ok?: boolean;
  data?: unknown;
  code?: string;
  error?: string;
  headers?: Record<string, string>;
  raw?: string;
};

const { key, cert, fingerprint: pin } = selfSigned();
const credentials = { username: "ada", password: "secret" };
let server: Server;
let url: string;
let seen: Seen[];
/** Bytes of requests that were received over TLS. */
let received: number;
let logins: number;
let reply: (seen: Seen, turn: number) => Reply | undefined;

beforeAll(async () => {
  server = createServer({ key, cert }, async (request, response) => {
    const body = await text(request);
    const { authorization, prefer, "idempotency-key": once } = request.headers;
    const entry: Seen = {
      line: `${request.method} ${request.url}`,
      authorization,
      prefer: typeof prefer === "string" ? prefer : undefined,
      ...(typeof once === "string" && { key: once }),
      body: body === "" ? undefined : JSON.parse(body),
    };
    seen.push(entry);
    const { status = 200, ok = status === 200, data, code, error, headers = {}, raw } = answerFor(entry);
    response.writeHead(status, { "X-Request-Id": "r-1", ...headers });
    response.end(raw ?? JSON.stringify({ ok, data, code, error }));
  });
  server.on("secureConnection", (socket) => socket.on("data", (chunk: Buffer) => (received += chunk.length)));
  server.on("upgrade", (request, socket: Duplex) => {
    seen.push({
      line: `UPGRADE ${request.url}`,
      authorization: request.headers.authorization,
      prefer: undefined,
      body: request.headers.upgrade,
    });
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n{"from":"r1"}\n`);
    socket.end('{"from":"r2"}\n');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

beforeEach(() => {
  [seen, received, logins] = [[], 0, 0];
  reply = () => ({ data: {} });
});

function answerFor(entry: Seen): Reply {
  const own = reply(entry, seen.length);
  if (own !== undefined) return own;
  if (entry.line === "POST /api/v1/login") return { data: { token: `t${++logins}`, username: "ada" } };
  if (entry.authorization !== `Bearer t${logins}`) return { status: 401, code: "expired_agent_session", error: "the session expired" };
  return { data: { of: entry.line } };
}

describe("methods", () => {
  test("the client has one method for every operation, typed by the table", () => {
    using client = connect({ url, pin });
    for (const id of Object.keys(operations) as OperationId[]) expect(client[id]).toBeTypeOf("function");
    expectTypeOf<keyof LabwrightClient & OperationId>().toEqualTypeOf<OperationId>();
    expectTypeOf(client.planProject).returns.resolves.toEqualTypeOf<ResultOf<"planProject">>();
    expectTypeOf<ResultOf<"streamConsole">>().toEqualTypeOf<Duplex>();
    // @ts-expect-error: the id of a template is required
    const wrong = () => client.getTemplate({});
    expect(wrong).toBeTypeOf("function");
  });

  test("parameters are sent in the path, other fields in the query or the body", async () => {
    using client = connect({ url, pin, token: "t" });
    await client.getTemplate({ id: "a b/c" });
    await client.listTemplates({ provisioned: "true" });
    await client.listTemplates();
    await client.planProject({ lab: "/x", prune: false, node: "" });
    await client.cancelJob({ id: "j1" });
    const { plan_identity }: ResultOf<"planProject"> = {};
    await client.reconcileProject({ lab: "/x", plan_identity });
    await client.listTemplates({ provisioned: undefined });
    expect(seen.map(({ line, body }) => [line, body])).toEqual([
      ["GET /api/v1/templates/a%20b%2Fc", undefined],
      ["GET /api/v1/templates?provisioned=true", undefined],
      ["GET /api/v1/templates", undefined],
      ["POST /api/v1/projects/plan", { lab: "/x", prune: false, node: "" }],
      ["POST /api/v1/jobs/j1/cancel", {}],
      ["POST /api/v1/projects/reconcile", { lab: "/x" }],
      ["GET /api/v1/templates", undefined],
    ]);
    expect(new Set(seen.map(({ authorization }) => authorization))).toEqual(new Set(["Bearer t"]));
  });

  test("health and login are called without the token, and login stores the new one", async () => {
    reply = () => undefined;
    const tokens: string[] = [];
    using client = connect({ url, pin, token: "old", onToken: (token) => tokens.push(token) });
    await client.login(credentials);
    await client.getSession();
    await client.logout();
    expect(seen.map(({ authorization }) => authorization)).toEqual([undefined, "Bearer t1", "Bearer t1"]);
    expect([tokens, client.token]).toEqual([["t1"], undefined]);
  });
});

describe("errors", () => {
  test("an envelope's failure is thrown with its message, status, code and data", async () => {
    reply = () => ({
      status: 409,
      code: "lab_busy",
      error: "busy",
      data: { operation: { name: "deploy" } },
      headers: { "Retry-After": "3" },
    });
    using client = connect({ url, pin, token: "t" });
    const failure = await client.deployProject({ lab: "/x" }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LabwrightError);
    expect(failure).toMatchObject({
      message: "busy",
      status: 409,
      code: "lab_busy",
      data: { operation: { name: "deploy" } },
      retryAfter: 3,
      requestId: "r-1",
    });
  });

  test("an answer without an envelope is an error without a code", async () => {
    using client = connect({ url, pin, token: "t" });
    for (const raw of ["<html>proxy</html>", "[]", '{"status":"ok"}']) {
      reply = () => ({ raw });
      await expect(client.getSession()).rejects.toMatchObject({ status: 200, code: undefined });
    }
  });

  test("a certificate other than the pinned one is reported before a byte of the request is sent", async () => {
    using client = connect({ url, pin: "ab".repeat(32) });
    await expect(client.login(credentials)).rejects.toMatchObject({ name: "LabwrightError", code: "tls_pin_mismatch", status: 0 });
    expect([seen, received]).toEqual([[], 0]);
  });

  test("an unknown certificate, a missing service, a time-out and plain HTTP each have their own code with status 0", async () => {
    using untrusting = connect({ url });
    await expect(untrusting.getHealth()).rejects.toMatchObject({
      code: "tls_untrusted",
      status: 0,
      data: { fingerprint: expect.any(String) },
    });
    const closed = createTcpServer();
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    using nobody = connect({ url: `https://127.0.0.1:${port}`, pin });
    await expect(nobody.getHealth()).rejects.toMatchObject({ code: "host_unreachable", status: 0 });
    reply = () => ({ raw: "x", headers: { "Content-Length": "99" } });
    using slow = connect({ url, pin, timeouts: { getHealth: 80 } });
    await expect(slow.getHealth()).rejects.toMatchObject({ code: "host_timeout", status: 0 });
    await expect(slow.listTemplates({}, { timeoutMs: 60 })).rejects.toMatchObject({ message: expect.stringContaining("0.06 s") });
    expect(() => connect({ url: "http://127.0.0.1:1" })).toThrow(
      expect.objectContaining({ name: "LabwrightError", code: "tls_required", status: 0 }),
    );
  });

  test("aborting rejects with the signal's own reason", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    reply = () => {
      controller.abort(reason);
      return {};
    };
    using client = connect({ url, pin, token: "t" });
    await expect(client.inspectProject({ lab: "/x" }, { signal: controller.signal })).rejects.toBe(reason);
  });
});

describe("the session", () => {
  const ids = Object.keys(operations) as OperationId[];
  const requests = () => seen.filter(({ line }) => line !== "POST /api/v1/login").length;

  test("with credentials the first call logs in, once for simultaneous calls", async () => {
    reply = () => undefined;
    using client = connect({ url, pin, credentials });
    await Promise.all([client.getSession(), client.listTemplates(), client.listLabs()]);
    expect([logins, requests()]).toEqual([1, 3]);
  });

  test("after an expired session only replayable operations are sent again", async () => {
    reply = () => undefined;
    for (const id of ids) {
      const row = operations[id];
      if (row.auth === "none" || row.answer !== "data") continue;
      [seen, logins] = [[], 0];
      using client = connect({ url, pin, token: "stale", credentials: async () => credentials });
      const call = client[id] as (input: object) => Promise<unknown>;
      const outcome = await call({ id: "x", lab: "/x", ticket: "x", number: "1" }).then(
        () => "answered",
        (error: LabwrightError) => error.code,
      );
      const expected = row.replay ? ["answered", 1, 2] : ["expired_agent_session", 0, 1];
      expect([outcome, logins, requests()], id).toEqual(expected);
    }
  });

  test("a change that met an expired session is not sent again, but the next call logs in first", async () => {
    reply = () => undefined;
    using client = connect({ url, pin, token: "stale", credentials });
    await expect(client.deployProject({ lab: "/x" })).rejects.toMatchObject({ code: "expired_agent_session" });
    await client.deployProject({ lab: "/x" });
    expect(seen.map(({ line, authorization }) => [line, authorization])).toEqual([
      ["POST /api/v1/projects/deploy", "Bearer stale"],
      ["POST /api/v1/login", undefined],
      ["POST /api/v1/projects/deploy", "Bearer t1"],
    ]);
  });

  test("a session that is refused again after the new login is not tried a third time, nor without credentials a second", async () => {
    reply = ({ line }) =>
      line.endsWith("/login") ? { data: { token: "t1" } } : { status: 401, code: "expired_host_session", error: "no" };
    using client = connect({ url, pin, token: "stale", credentials });
    await expect(client.getProjectStatus({ lab: "/x" })).rejects.toMatchObject({ code: "expired_host_session" });
    expect(requests()).toBe(2);
    using bare = connect({ url, pin, token: "stale" });
    seen = [];
    await expect(bare.getProjectStatus({ lab: "/x" })).rejects.toMatchObject({ code: "expired_host_session" });
    expect(seen.length).toBe(1);
  });

  test("wrong credentials fail with invalid_credentials and are not tried again", async () => {
    reply = () => ({ status: 401, code: "invalid_credentials", error: "wrong user name or password" });
    using client = connect({ url, pin, credentials });
    await expect(client.getSession()).rejects.toMatchObject({ code: "invalid_credentials" });
    expect(seen.length).toBe(1);
  });
});

describe("streams and jobs", () => {
  test("openConsole attaches and returns the raw connection, with the bearer token in both requests", async () => {
    reply = () => ({ data: { stream: "f".repeat(64), transport: "host-telnet" } });
    using client = connect({ url, pin, token: "t" });
    const connection = await client.openConsole({ lab: "/x", node: "r1" });
    expect(await text(connection)).toBe('{"from":"r1"}\n{"from":"r2"}\n');
    expect(seen.map(({ line, authorization, body }) => [line, authorization, body])).toEqual([
      ["POST /api/v1/console/attach", "Bearer t", { lab: "/x", node: "r1" }],
      [`UPGRADE /api/v1/console/stream/${"f".repeat(64)}`, "Bearer t", "host-telnet"],
    ]);
  });

  test("openTraffic yields one object per packet, and leaving the loop closes the connection", async () => {
    reply = () => ({ data: { stream: "e".repeat(64), transport: "host-traffic" } });
    using client = connect({ url, pin, token: "t" });
    using packets = await client.openTraffic({ lab: "/x" });
    const senders: unknown[] = [];
    for await (const packet of packets) senders.push(packet.from);
    expect(senders).toEqual(["r1", "r2"]);
  });

  test("events arrive one by one, even if a line is cut in two or has no end", async () => {
    reply = (_seen, turn) =>
      turn === 1 ? { raw: '{"id":"1","type":"node","name":"gr\u00fcn"}\n\n{"id":"2","type":"heartbeat"}' } : { raw: '{"id":"3"}\n' };
    using client = connect({ url, pin, token: "t" });
    const ids: string[] = [];
    for await (const event of await client.events({ lab: "/x" })) {
      ids.push(event.id);
      if (event.id === "3") break;
    }
    expect(ids).toEqual(["1", "2", "3"]);
    expect(seen.map(({ line }) => line)).toEqual(["GET /api/v1/events?lab=%2Fx", "GET /api/v1/events?lab=%2Fx&after=2"]);
  });

  test("a download returns its media type, file name and bytes, and a refused download throws its error", async () => {
    reply = () => ({
      raw: "bytes",
      headers: { "Content-Type": "application/x-pcapng", "Content-Disposition": 'attachment; filename="r1.pcapng"' },
    });
    using client = connect({ url, pin, token: "t" });
    const download = await client.downloadCapture({ id: "c1" });
    expect([download.mediaType, download.filename, await text(download.body)]).toEqual(["application/x-pcapng", "r1.pcapng", "bytes"]);
    reply = () => ({ status: 404, code: "capture_not_found", error: "gone" });
    await expect(client.downloadCapture({ id: "c1" })).rejects.toMatchObject({ code: "capture_not_found" });
  });

  test("an idempotency key is sent with changes only, and a PUT has a body", async () => {
    reply = () => ({ data: {} });
    using client = connect({ url, pin, token: "t" });
    await client.deployProject({ lab: "/x" }, { idempotencyKey: "k-1" });
    await client.getProjectStatus({ lab: "/x" }, { idempotencyKey: "k-1" });
    await client.setLabGrants({ lab: "/x", grants: [{ user: "bob", right: "view" }] });
    expect(seen.map(({ key }) => key)).toEqual(["k-1", undefined, undefined]);
    expect(seen[2]).toMatchObject({ line: "PUT /api/v1/labs/grants", body: { lab: "/x", grants: [{ user: "bob", right: "view" }] } });
  });

  test("a job reports each new step and returns the operation's result or throws its error", async () => {
    const states = [
      { status: "running", step: 1, steps: 2 },
      { status: "running", step: 1, steps: 2 },
      { status: "running", step: 2, steps: 2 },
      { status: "done", step: 2, steps: 2, result: { lab: "/x", nodes: 3 } },
    ];
    let turn = 0;
    reply = ({ prefer }) => (prefer === undefined ? { data: states[Math.min(turn++, states.length - 1)] } : { data: { job: "j1" } });
    using client = connect({ url, pin, token: "t" });
    const { job } = await client.startJob("deployProject", { lab: "/x" });
    const steps: string[] = [];
    const data = await client.waitForJob("deployProject", job, { onProgress: ({ status, step }) => steps.push(`${status} ${step}`) });
    expect([data, steps]).toEqual([{ lab: "/x", nodes: 3 }, ["running 1", "running 2", "done 2"]]);
    expect([seen[0]?.prefer, seen[1]?.line]).toEqual(["respond-async", "GET /api/v1/jobs/j1"]);
    reply = () => ({ data: { status: "failed", step: 1, steps: 2, error: { code: "lab_locked", error: "locked", data: { applied: 1 } } } });
    await expect(client.waitForJob("deployProject", "j1")).rejects.toMatchObject({
      status: 423,
      code: "lab_locked",
      message: "locked",
      data: { applied: 1 },
    });
    reply = () => ({ data: { status: "failed", step: 1, steps: 2, error: { code: "of_the_future", error: "new" } } });
    await expect(client.waitForJob("deployProject", "j1")).rejects.toMatchObject({ status: 200, code: "of_the_future" });
    // While the database is away, the change itself goes on.
    let asked = 0;
    const away = { status: 503, code: "store_unavailable", error: "nothing was changed by this call" };
    reply = () => (asked++ === 0 ? away : { data: { status: "done", step: 2, steps: 2, result: { lab: "/x" } } });
    expect(await client.waitForJob("deployProject", "j1")).toEqual({ lab: "/x" });
    expect(asked).toBe(2);
    const since = "2026-01-02T03:04:05.000Z";
    reply = () => ({ data: { job: "j1", status: "running", step: 1, steps: 2, machine: "alpha", unreachable_since: since } });
    await expect(client.waitForJob("deployProject", "j1")).rejects.toMatchObject({
      status: 503,
      code: "machine_unreachable",
      data: { machine: "alpha", seen_at: since, job: "j1" },
    });
  });

  test("the intent that a job leaves out is read from its lab", async () => {
    reply = ({ line }) =>
      line.startsWith("GET")
        ? { data: { status: "done", step: 1, steps: 1, left_out: ["yaml", "files"], result: { lab: "/copy", mode: "import" } } }
        : { data: { lab: "/copy", yaml: "name: copy", files: { a: "b" }, revision: "r" } };
    using client = connect({ url, pin, token: "t" });
    expect(await client.waitForJob("importProject", "j1")).toEqual({ lab: "/copy", mode: "import", yaml: "name: copy", files: { a: "b" } });
    expect(seen[1]).toMatchObject({ line: "POST /api/v1/projects/public", body: { lab: "/copy", as_written: true } });
  });

  test("a base path in the URL precedes the path of every operation", async () => {
    using client = connect({ url: `${url}/labs/`, pin, token: "t" });
    await client.getHealth();
    expect([seen[0]?.line, client.url]).toEqual(["GET /labs/api/v1/health", `${url}/labs`]);
  });
});
