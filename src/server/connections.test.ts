import { once } from "node:events";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { RawClient } from "../../test/wire/raw-client.ts";
import { health, testServer, token, upgradeRequest } from "./server.fixture.ts";
import { startServer } from "./start.ts";
import { selfSigned } from "./tls/self-signed.ts";

const on = testServer();

test.each([
  ["no Host", "GET /health HTTP/1.1\r\n\r\n", /^HTTP\/1\.1 400 .*"code":"bad_request"/s],
  ["no Host, in HTTP/1.0", "GET /health HTTP/1.0\r\n\r\n", /^HTTP\/1\.1 200 .*"ok":true/s],
  [
    "an expectation that nobody knows",
    "GET /health HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nConnection: close\r\n\r\n",
    /^HTTP\/1\.1 200 .*"ok":true/s,
  ],
])("a request with %s is answered with its envelope and request id", async (_name, text, expected) => {
  on.replies = { getHealth: () => ({}) };
  const raw = await on.client.secure(text);
  await expect.poll(raw.heard).toMatch(expected);
  expect(raw.heard()).toMatch(/^x-request-id: \S+/im);
  raw.socket.destroy();
});

test.each(["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n"])(
  "a plain request gets 426 even if it is incomplete: %j",
  async (text) => {
    expect(await on.client.plain(text)).toMatch(/^HTTP\/1\.1 426 .*"code":"tls_required"/s);
  },
);

test("a plain HTTP request gets 426 on the same port, and nothing else", async () => {
  const heard = await on.client.plain("GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n");
  const [head = "", body = ""] = heard.split("\r\n\r\n");
  expect(head).toMatch(/^HTTP\/1\.1 426 /);
  expect(head).toContain("\r\nUpgrade: TLS/1.3, HTTP/1.1");
  expect(head.toLowerCase()).toContain("\r\nx-request-id: ");
  expect(JSON.parse(body)).toMatchObject({ ok: false, code: "tls_required" });
});

test("other protocols on the port get the same answer", async () => {
  expect(await on.client.plain("SSH-2.0-OpenSSH_9.9\r\n")).toMatch(/^HTTP\/1\.1 426 /);
});

test("a plain client that never ends its header is cut off", async () => {
  expect(await on.client.plain("GET / HTTP/1.1\r\nHost:")).toMatch(/^(HTTP\/1\.1 426 .*)?$/s);
});

test("a client that sends nothing, or half a handshake, is cut off", async () => {
  expect(await on.client.plain("")).toBe("");
  expect(await on.client.plain("\x16\x03\x01")).toBe("");
});

test("a slow header inside TLS is answered and cut off", async () => {
  const { heard, ended } = await on.client.secure("GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX-Slow:");
  await ended();
  expect(heard()).toMatch(/^HTTP\/1\.1 400 .*bad_request/s);
});

test("a request that is not HTTP gets an envelope", async () => {
  const { heard, ended } = await on.client.secure("NONSENSE\r\n\r\n");
  await ended();
  expect(heard()).toMatch(/^HTTP\/1\.1 400 .*"code":"bad_request"/s);
});

test("a URL with a broken escape is bad_request", async () => {
  const { heard, ended } = await on.client.secure("GET /api/v1/templates/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  await ended();
  expect(heard()).toMatch(/^HTTP\/1\.1 400 .*X-Request-Id.*"code":"bad_request"/is);
});

test("the fastest cipher is preferred, and a client that supports only another one is served too", async () => {
  const port = Number(new URL(on.server.url).port);
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
  on.replies = {
    streamConsole: () => ({ protocol: "host-telnet", attach: (connection: import("node:stream").Duplex) => connection.write("hello") }),
    planProject: (_request, _caller, { signal }) => {
      seen = signal;
      return new Promise(() => {});
    },
  };
  const ending = await startServer({ service: on.service, certificate: { ...made, fingerprint: "" }, version: "0", graceMs: 100 });
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
  on.replies = { getHealth: () => health, getSession: (_request, caller) => ({ username: caller?.user }) };
  // With the usual patience: between two parts of a header this client may be paused for long.
  const made = selfSigned({ names: ["localhost"], from: new Date(Date.now() - 1000), until: new Date(Date.now() + 1e9) });
  const patient = await startServer({ service: on.service, certificate: { ...made, fingerprint: "" }, version: "0", graceMs: 100 });
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
