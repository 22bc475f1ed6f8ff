import { once } from "node:events";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from "vitest";
import { RawClient } from "../../test/wire/raw-client.ts";
import { Failure } from "../contract/errors.ts";
import type { OperationId } from "../contract/operations.ts";
import type { Call, Caller } from "../service/common/call.ts";
import type { EndedRequest } from "../service/metrics/metrics.ts";
import type { Handlers, Service } from "../service/service.ts";
import { type RunningServer, startServer } from "./start.ts";
import { fingerprintOf } from "./tls/certificate.ts";
import { selfSigned } from "./tls/self-signed.ts";

type TestHandler = (request: { body: unknown; query: unknown; params: unknown }, caller: Caller | null, call: Call) => unknown;

const token = "good-token";
const log: string[] = [];
let replies: Partial<Record<OperationId, TestHandler>> = {};
const ended: EndedRequest[] = [];
let server: RunningServer;
let client: RawClient;

const health = { status: "ok", tls: true, version: "0.0.0" };

/** A service that answers with the `replies` of a test. */
const service: Service = {
  handlers: new Proxy({} as Handlers, {
    get: (_target, id: OperationId) => async (request: Parameters<TestHandler>[0], caller: Caller | null, call: Call) => {
      const reply = replies[id];
      if (reply === undefined) throw new Failure("unsupported", `${id} is not part of this test`, { data: { feature: id } });
      return reply(request, caller, call);
    },
  }),
  authenticate: (given) => {
    if (given === token) return { user: "ann", role: "user", session: "s1" };
    throw new Failure(given === "old-token" ? "expired_agent_session" : "unauthenticated", "sign in");
  },
  authenticateBrowser: (cookie) => {
    if (cookie === "good-cookie") return { user: "ann", role: "user", session: "s1" };
    throw new Failure("unauthenticated", "sign in");
  },
  requestEnded: (request) => void ended.push(request),
  recover: async () => {},
  keepReady: () => undefined,
  close: async () => {},
};

beforeAll(async () => {
  const made = selfSigned({ names: ["localhost", "127.0.0.1"], from: new Date(Date.now() - 1000), until: new Date(Date.now() + 1e9) });
  server = await startServer({
    service,
    certificate: { ...made, fingerprint: fingerprintOf(made.certificate) },
    version: "0.0.0",
    log: { level: "debug", stream: { write: (line) => void log.push(line) } },
    // Long enough for a handshake on a busy machine.
    headerWaitMs: 2_000,
    stallMs: 200,
    graceMs: 200,
  });
  client = new RawClient(server.url, token);
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server.close();
});
afterEach(() => {
  replies = {};
});

const logged = () => log.map((line) => JSON.parse(line) as Record<string, unknown>);

test("a success is an envelope with data and a request id that the log contains too", async () => {
  replies = { getSession: (_request, caller) => ({ username: caller?.user }) };
  const answer = await client.get("/api/v1/session");
  expect(answer.status).toBe(200);
  expect(answer.json).toEqual({ ok: true, data: { username: "ann" } });
  await expect
    .poll(() => logged().find((line) => line.request_id === answer.headers["x-request-id"]))
    .toMatchObject({
      operation: "getSession",
      status: 200,
      user: "ann",
    });
});

test("health answers without a token, also without /api/v1", async () => {
  replies = { getHealth: () => health };
  for (const path of ["/api/v1/health", "/health"]) {
    const { status, json, headers } = await client.get(path, { bearer: null });
    expect({ status, json }).toEqual({ status: 200, json: { ok: true, data: { status: "ok", tls: true, version: "0.0.0" } } });
    expect(headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    const line = () => logged().find((each) => each.request_id === headers["x-request-id"]);
    await expect
      .poll(line)
      .toMatchObject({ level: 30, msg: "request", operation: "getHealth", method: "GET", status: 200, address: "127.0.0.1" });
    expect(ended.at(-1)).toMatchObject({ operation: "getHealth", status: 200 });
  }
});

test.each([
  ["no token", null, "unauthenticated"],
  ["an unknown token", "bad", "unauthenticated"],
  ["an expired token", "old-token", "expired_agent_session"],
])("%s answers 401 before the body is read", async (_name, bearer, code) => {
  const answer = await client.call("POST", "/api/v1/projects/plan", {
    bearer,
    body: "not json",
    headers: { "Content-Type": "text/plain" },
  });
  expect(answer.status).toBe(401);
  expect(answer.headers["www-authenticate"]).toBe("Bearer");
  expect(answer.json).toMatchObject({ ok: false, code });
  expect(answer.headers["x-request-id"]).toBeTruthy();
});

test("a failure of the service keeps its code, data and Retry-After", async () => {
  const operation = { name: "deploy", user: "ann", started_at: "2026-01-01T00:00:00Z", step: 1, steps: 3 };
  replies = {
    deployProject: () => {
      throw new Failure("lab_busy", "busy", { data: { operation }, retryAfter: 1.2 });
    },
  };
  const answer = await client.post("/api/v1/projects/deploy", { lab: "/x" });
  expect(answer.status).toBe(409);
  expect(answer.headers["retry-after"]).toBe("2");
  expect(answer.json).toEqual({ ok: false, error: "busy", code: "lab_busy", data: { operation } });
});

test("a defect answers 500 with the request id and without its message; the log has the cause", async () => {
  replies = {
    getSession: () => {
      throw new TypeError("secret inner text");
    },
  };
  const answer = await client.get("/api/v1/session");
  expect(answer.status).toBe(500);
  expect(answer.json).toEqual({
    ok: false,
    error: "internal error",
    code: "internal",
    data: { request_id: answer.headers["x-request-id"] },
  });
  expect(log.some((line) => line.includes("secret inner text") && line.includes("server.test.ts"))).toBe(true);
});

test("a path with two methods names them in Allow; an unknown path is not_found", async () => {
  const wrong = await client.call("DELETE", "/api/v1/projects/plan");
  expect([wrong.status, wrong.json.code, wrong.headers.allow]).toEqual([405, "method_not_allowed", "POST"]);
  const nothing = await client.get("/api/v1/nothing");
  expect([nothing.status, nothing.json.code]).toEqual([404, "not_found"]);
  const parameter = await client.call("PUT", "/api/v1/templates/frr/images");
  expect([parameter.status, parameter.headers.allow]).toEqual([405, "GET"]);
});

test("a body over the limit answers 413 and the connection is used again", async () => {
  const body = Buffer.alloc(33_554_433, 0x20);
  const answer = await client.post("/api/v1/projects/plan", body);
  expect([answer.status, answer.json.code]).toEqual([413, "payload_too_large"]);
  replies = { getSession: () => ({}) };
  const next = await client.get("/api/v1/session");
  expect([next.status, next.reused]).toEqual([200, true]);
});

test("a chunked body over the limit answers 413, and the connection is used again", async () => {
  replies = { getHealth: () => ({}) };
  const chunk = `4000\r\n${" ".repeat(0x4000)}\r\n`;
  const head = "POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  const { socket, heard } = await client.secure(`${head}${chunk}${chunk}0\r\n\r\n`);
  await expect.poll(heard).toMatch(/^HTTP\/1\.1 413 .*"code":"payload_too_large"/s);
  socket.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
  await expect.poll(heard).toMatch(/HTTP\/1\.1 200 .*"ok":true/s);
  socket.destroy();
});

test("a body with a huge declared length is refused unread, and its connection is closed", async () => {
  const { heard, ended } = await client.secure(
    "POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{",
  );
  await ended();
  expect(heard()).toMatch(/^HTTP\/1\.1 413 .*connection: close.*"code":"payload_too_large"/is);
});

test("a body that is cut off does not reach the service", async () => {
  let called = false;
  replies = {
    login: () => {
      called = true;
      return {};
    },
  };
  const { socket } = await client.secure(
    "POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{}",
  );
  const lines = log.length;
  socket.end();
  await expect.poll(() => log.length).toBeGreaterThan(lines);
  expect(called).toBe(false);
});

test("a login body is limited to 16 KiB", async () => {
  const answer = await client.post("/api/v1/login", { username: "a".repeat(16_384), password: "b" }, { bearer: null });
  expect([answer.status, answer.json.code]).toEqual([413, "payload_too_large"]);
});

test("the largest body is read whole", async () => {
  replies = { planProject: ({ body }) => ({ text: String((body as { yaml: string }).yaml.length) }) };
  const yaml = "a".repeat(33_554_432 - '{"yaml":""}'.length);
  expect((await client.post("/api/v1/projects/plan", { yaml })).json.data.text).toBe(String(yaml.length));
});

test("a text that is not JSON is refused, and the message does not quote it", async () => {
  const answer = await client.post("/api/v1/login", '{"username": "ann", "password": hunter2}', { bearer: null });
  expect([answer.status, answer.json.code]).toEqual([400, "bad_request"]);
  expect(answer.text).not.toContain("hunter2");
});

test.each([
  ["empty", ""],
  ["an array", "[]"],
  ["null", "null"],
  ["a string", '"x"'],
  ["not UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ["nested too deeply", `{"state":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
])("a body that is %s is bad_request", async (_name, body) => {
  replies = { planProject: () => ({}) };
  const answer = await client.post("/api/v1/projects/plan", body);
  expect([answer.status, answer.json.code]).toEqual([400, "bad_request"]);
  expect(answer.json.data.problems).toHaveLength(1);
});

test.each([["text/plain"], ["application/json; charset=utf-16"], ["application/x-www-form-urlencoded"]])(
  "a body of type %s answers 415",
  async (type) => {
    const answer = await client.call("POST", "/api/v1/projects/plan", { body: "{}", headers: { "Content-Type": type } });
    expect([answer.status, answer.json.code]).toEqual([415, "unsupported_media_type"]);
  },
);

test("an encoded body answers 415", async () => {
  const answer = await client.call("POST", "/api/v1/projects/plan", { body: "{}", headers: { "Content-Encoding": "gzip" } });
  expect([answer.status, answer.json.code]).toEqual([415, "unsupported_media_type"]);
});

test("keys such as __proto__ and constructor change nothing", async () => {
  let seen: unknown;
  replies = {
    planProject: ({ body }) => {
      seen = Object.assign({}, body);
      return {};
    },
  };
  const answer = await client.post(
    "/api/v1/projects/plan",
    '{"lab":"/x","__proto__":{"prune":true},"files":{"constructor":"text","__proto__":"x"},"constructor":{"prototype":{"a":1}}}',
  );
  expect(answer.status).toBe(200);
  expect((seen as { prune?: boolean }).prune).toBeUndefined();
  expect(Object.getPrototypeOf(seen)).toBe(Object.prototype);
  expect((seen as { files: object }).files).toEqual({ constructor: "text" });
});

test("absent, null, false, 0 and empty text reach the service as they were sent", async () => {
  let seen: unknown;
  replies = {
    destroyProject: ({ body }) => {
      seen = body;
      return {};
    },
  };
  const body = { lab: "", wipe: false, stopmode: 0, state: null, source: null, node: "", extra: null };
  expect((await client.post("/api/v1/projects/destroy", body)).status).toBe(200);
  expect(seen).toEqual(body);
});

test("logout does not read its body", async () => {
  replies = { logout: ({ body }) => ({ status: body === undefined ? "ok" : "read" }) };
  for (const body of ["{}", "not json", undefined]) {
    expect((await client.call("POST", "/api/v1/logout", { body })).json).toEqual({ ok: true, data: { status: "ok" } });
  }
});

test("a client that disconnects aborts the call's signal", async () => {
  const leaving = new AbortController();
  let seen: AbortSignal | undefined;
  replies = {
    planProject: async (_request, _caller, { signal }) => {
      seen = signal;
      leaving.abort();
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      return {};
    },
  };
  await expect(client.post("/api/v1/projects/plan", {}, { signal: leaving.signal })).rejects.toThrow("aborted");
  await expect.poll(() => seen?.aborted).toBe(true);
});

test.each([
  ["no Host", "GET /health HTTP/1.1\r\n\r\n", /^HTTP\/1\.1 400 .*"code":"bad_request"/s],
  ["no Host, in HTTP/1.0", "GET /health HTTP/1.0\r\n\r\n", /^HTTP\/1\.1 200 .*"ok":true/s],
  [
    "an expectation that nobody knows",
    "GET /health HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nConnection: close\r\n\r\n",
    /^HTTP\/1\.1 200 .*"ok":true/s,
  ],
])("a request with %s is answered with its envelope and request id", async (_name, text, expected) => {
  replies = { getHealth: () => ({}) };
  const raw = await client.secure(text);
  await expect.poll(raw.heard).toMatch(expected);
  expect(raw.heard()).toMatch(/^x-request-id: \S+/im);
  raw.socket.destroy();
});

test.each(["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n"])(
  "a plain request gets 426 even if it is incomplete: %j",
  async (text) => {
    expect(await client.plain(text)).toMatch(/^HTTP\/1\.1 426 .*"code":"tls_required"/s);
  },
);

test("a plain HTTP request gets 426 on the same port, and nothing else", async () => {
  const heard = await client.plain("GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n");
  const [head = "", body = ""] = heard.split("\r\n\r\n");
  expect(head).toMatch(/^HTTP\/1\.1 426 /);
  expect(head).toContain("\r\nUpgrade: TLS/1.3, HTTP/1.1");
  expect(head.toLowerCase()).toContain("\r\nx-request-id: ");
  expect(JSON.parse(body)).toMatchObject({ ok: false, code: "tls_required" });
});

test("other protocols on the port get the same answer", async () => {
  expect(await client.plain("SSH-2.0-OpenSSH_9.9\r\n")).toMatch(/^HTTP\/1\.1 426 /);
});

test("a plain client that never ends its header is cut off", async () => {
  expect(await client.plain("GET / HTTP/1.1\r\nHost:")).toMatch(/^(HTTP\/1\.1 426 .*)?$/s);
});

test("a client that sends nothing, or half a handshake, is cut off", async () => {
  expect(await client.plain("")).toBe("");
  expect(await client.plain("\x16\x03\x01")).toBe("");
});

test("a slow header inside TLS is answered and cut off", async () => {
  const { heard, ended } = await client.secure("GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX-Slow:");
  await ended();
  expect(heard()).toMatch(/^HTTP\/1\.1 400 .*bad_request/s);
});

test("a request that is not HTTP gets an envelope", async () => {
  const { heard, ended } = await client.secure("NONSENSE\r\n\r\n");
  await ended();
  expect(heard()).toMatch(/^HTTP\/1\.1 400 .*"code":"bad_request"/s);
});

test("a URL with a broken escape is bad_request", async () => {
  const { heard, ended } = await client.secure("GET /api/v1/templates/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  await ended();
  expect(heard()).toMatch(/^HTTP\/1\.1 400 .*X-Request-Id.*"code":"bad_request"/is);
});

const upgradeRequest = (ticket: string, headers = `Authorization: Bearer ${token}\r\n`) =>
  `GET /api/v1/console/stream/${ticket} HTTP/1.1\r\nHost: x\r\n${headers}Connection: Upgrade\r\nUpgrade: host-telnet\r\n\r\n`;

test("an upgrade hands the raw connection over, with the bytes that came with it", async () => {
  replies = {
    streamConsole: ({ params }) => ({
      protocol: "host-telnet",
      attach: (connection: import("node:stream").Duplex) => {
        connection.write(`ticket ${(params as { ticket: string }).ticket}\n`);
        connection.pipe(connection);
      },
    }),
  };
  const { socket, heard, ended } = await client.secure(`${upgradeRequest("abc")}early `);
  await expect.poll(heard).toContain("early ");
  socket.write("later");
  await expect.poll(heard).toContain("early later");
  const [head = "", body] = heard().split("\r\n\r\n");
  expect(head).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
  expect(head).toContain("Upgrade: host-telnet");
  expect(head).toContain("X-Request-Id: ");
  expect(body).toBe("ticket abc\nearly later");
  socket.end();
  await ended();
  expect(logged()).toContainEqual(expect.objectContaining({ operation: "streamConsole", status: 101, user: "ann" }));
});

test("a client that disconnects before its upgrade is decided aborts the call's signal", async () => {
  let seen: AbortSignal | undefined;
  replies = {
    streamConsole: async (_request, _caller, { signal }) => {
      seen = signal;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      throw new Failure("browser_token_invalid", "too late");
    },
  };
  const { socket } = await client.secure(upgradeRequest("abc"));
  await expect.poll(() => seen).toBeDefined();
  socket.destroy();
  await expect.poll(() => seen?.aborted).toBe(true);
});

test("a refused upgrade keeps its envelope", async () => {
  replies = {
    streamConsole: () => {
      throw new Failure("browser_token_invalid", "the ticket is used");
    },
  };
  const refused = await client.secure(upgradeRequest("abc"));
  await refused.ended();
  expect(refused.heard()).toMatch(/^HTTP\/1\.1 403 .*"code":"browser_token_invalid"/s);
  const stranger = await client.secure(upgradeRequest("abc", ""));
  await stranger.ended();
  expect(stranger.heard()).toMatch(/^HTTP\/1\.1 401 .*WWW-Authenticate: Bearer.*"code":"unauthenticated"/is);
});

test("a stream path without its upgrade is bad_request, and its ticket stays valid", async () => {
  let used = 0;
  replies = {
    streamConsole: () => {
      used++;
      return {};
    },
  };
  expect((await client.get("/api/v1/console/stream/abc")).json.code).toBe("bad_request");
  const { socket, heard } = await client.secure(
    upgradeRequest("abc").replace("Upgrade: host-telnet", "Upgrade: host-traffic").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
  );
  await expect.poll(heard).toContain("bad_request");
  socket.destroy();
  expect(used).toBe(0);
});

test("an Upgrade header on another path is ignored, and the body is read", async () => {
  replies = { planProject: ({ body }) => ({ lab: (body as { lab: string }).lab }) };
  const { socket, heard } = await client.secure(
    `POST /api/v1/projects/plan HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"lab":"/x"}`,
  );
  await expect.poll(heard).toMatch(/^HTTP\/1\.1 200 .*"lab":"\/x"/s);
  socket.destroy();
});

test("events are NDJSON, or SSE if requested, and continue after an id", async () => {
  replies = {
    events: async function* ({ query }) {
      yield { id: "7", at: "t", type: "heartbeat", data: (query as { after?: string }).after };
    },
  };
  const lines = await client.get("/api/v1/events?after=6");
  expect(lines.headers["content-type"]).toContain("application/x-ndjson");
  expect(lines.text).toBe('{"id":"7","at":"t","type":"heartbeat","data":"6"}\n');
  const sse = await client.get("/api/v1/events", { headers: { Accept: "text/event-stream", "Last-Event-ID": "5" } });
  expect(sse.headers["content-type"]).toContain("text/event-stream");
  expect(sse.text).toBe('id: 7\nevent: heartbeat\ndata: {"id":"7","at":"t","type":"heartbeat","data":"5"}\n\n');
  expect(sse.headers["x-request-id"]).toBeTruthy();
});

test("a reader of events that reads nothing is disconnected", async () => {
  let left = false;
  replies = {
    events: async function* () {
      try {
        for (let number = 1; ; number++) yield { id: String(number), at: "t", type: "node", data: "x".repeat(100_000) };
      } finally {
        left = true;
      }
    },
  };
  const { socket, heard } = await client.secure(`GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await expect.poll(heard).toContain('"id":"1"');
  socket.pause();
  await expect.poll(() => left).toBe(true);
  socket.destroy();
});

test("a download carries its media type and file name", async () => {
  replies = {
    downloadCapture: () => ({
      mediaType: "application/x-pcapng",
      filename: 'r1".pcapng',
      body: (async function* () {
        yield Buffer.from("packets");
      })(),
    }),
  };
  const answer = await client.get("/api/v1/projects/captures/c1/pcapng");
  expect(answer.text).toBe("packets");
  expect(answer.headers["content-type"]).toBe("application/x-pcapng");
  expect(answer.headers["content-disposition"]).toBe('attachment; filename="r1_.pcapng"');
});

test("the OpenAPI document is served without an envelope", async () => {
  const answer = await client.get("/api/v1/openapi.json");
  expect(answer.json.openapi).toBe("3.1.0");
  expect(answer.json.info.version).toBe("0.0.0");
});

test("neither token, password nor ticket is ever logged", async () => {
  replies = { login: () => ({ token: "new-token" }) };
  await client.post("/api/v1/login", { username: "ann", password: "hunter2" }, { bearer: null });
  await client.get("/api/v1/console/stream/0123ticket");
  await expect.poll(() => logged().some((line) => line.operation === "login")).toBe(true);
  const everything = log.join("");
  for (const secret of [token, "new-token", "hunter2", "0123ticket"]) expect(everything).not.toContain(secret);
});

test("the fastest cipher is preferred, and a client that supports only another one is served too", async () => {
  const port = Number(new URL(server.url).port);
  const cipher = async (options: ConnectionOptions) => {
    const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options });
    await once(socket, "secureConnect");
    const { name } = socket.getCipher();
    socket.destroy();
    return name;
  };
  expect(await cipher({})).toBe("TLS_AES_128_GCM_SHA256");
  expect(await cipher({ ciphers: "TLS_AES_256_GCM_SHA384" })).toBe("TLS_AES_256_GCM_SHA384");
  expect(await cipher({ maxVersion: "TLSv1.2" })).toMatch(/^ECDHE-ECDSA-/);
});

test("close ends open streams, answers running and new requests, and does not hang", async () => {
  const made = selfSigned({ names: ["localhost"], from: new Date(Date.now() - 1000), until: new Date(Date.now() + 1e9) });
  let seen: AbortSignal | undefined;
  replies = {
    streamConsole: () => ({ protocol: "host-telnet", attach: (connection: import("node:stream").Duplex) => connection.write("hello") }),
    planProject: (_request, _caller, { signal }) => {
      seen = signal;
      return new Promise(() => {});
    },
  };
  const ending = await startServer({ service, certificate: { ...made, fingerprint: "" }, version: "0", graceMs: 100 });
  using near = new RawClient(ending.url);
  const stream = await near.secure(upgradeRequest("abc"));
  await expect.poll(stream.heard).toContain("hello");
  const running = await near.secure(
    `POST /api/v1/projects/plan HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
  );
  await expect.poll(() => seen).toBeDefined();
  const closed = ending.close();
  await Promise.all([once(running.socket, "data"), closed]);
  expect(seen?.aborted).toBe(true);
  await stream.ended();
  expect(running.heard()).toMatch(/^HTTP\/1\.1 503 /);
  expect(running.heard()).toContain('"code":"shutting_down"');
  expect(running.heard()).toMatch(/^connection: close\r$/im);
});

test("a connection that sends thousands of requests at once and reads late gets every answer", async () => {
  replies = { getHealth: () => health, getSession: (_request, caller) => ({ username: caller?.user }) };
  // With the usual patience: between two parts of a header this client may be paused for long.
  const made = selfSigned({ names: ["localhost"], from: new Date(Date.now() - 1000), until: new Date(Date.now() + 1e9) });
  const patient = await startServer({ service, certificate: { ...made, fingerprint: "" }, version: "0", graceMs: 100 });
  onTestFinished(() => patient.close());
  const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  const healthRequests = ask("/api/v1/health").repeat(40);
  for (const other of ["", ask("/api/v1/session")]) {
    const socket = connectTls({ host: "127.0.0.1", port: Number(new URL(patient.url).port), rejectUnauthorized: false });
    await once(socket, "secureConnect");
    socket.pause();
    // Each in a record of its own, so that they come to the parser one by one.
    const rounds = 150;
    for (let i = 0; i < rounds; i++) socket.write(healthRequests + (i % 10 === 5 ? other : ""));
    const expected = rounds * 40 + (other === "" ? 0 : rounds / 10);
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk) => {
      text += chunk;
    });
    socket.resume();
    await expect.poll(() => text.split("HTTP/1.1 200 OK\r\n").length - 1).toBe(expected);
    expect(text).not.toMatch(/HTTP\/1\.1 [^2]/);
    socket.destroy();
  }
});
