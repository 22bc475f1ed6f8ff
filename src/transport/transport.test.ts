import { createServer as createPlainServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import type { Duplex } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { selfSigned } from "../../test/self-signed.ts";
import { listenTo } from "./direct-reads.ts";
import { Transport, type TransportCall } from "./transport.ts";

const { key, cert: certificate, fingerprint, hex } = selfSigned();
let server: Server;
let url: string;
/** Request lines that reached the server's HTTP parser, and raw application bytes that it received. */
let seen: string[] = [];
let received = 0;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let upgrade: (request: IncomingMessage, socket: Duplex) => void;
const get: TransportCall = { method: "GET", path: "/x", timeoutMs: 5000 };

beforeAll(async () => {
  server = createServer({ key, cert: certificate }, (request, response) => {
    seen.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  server.on("upgrade", (request, socket) => upgrade(request, socket));
  server.on("secureConnection", (socket) => socket.on("data", (chunk: Buffer) => (received += chunk.length)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

beforeEach(() => {
  seen = [];
  received = 0;
  answer = (_request, response) => response.end("hello");
});

test("a pinned certificate is accepted in every notation of its fingerprint", async () => {
  for (const pin of [fingerprint, hex, `sha256:${hex}`, `SHA256:${fingerprint}`, `sha256 Fingerprint=${fingerprint}`]) {
    using transport = new Transport({ url, pin });
    const { status, body } = await transport.request(get);
    expect([status, body.toString()]).toEqual([200, "hello"]);
  }
});

test("a text that is not a fingerprint is refused before a connection is opened", () => {
  for (const pin of ["abc", `2${fingerprint.slice(2)}2`, fingerprint.replace(":", "::"), `${hex}:`])
    expect(() => new Transport({ url, pin })).toThrow(expect.objectContaining({ code: "tls_pin_mismatch" }));
});

test("another certificate than the pinned one ends the connection before the first request byte", async () => {
  using transport = new Transport({ url, pin: "00".repeat(32) });
  const call = { ...get, method: "POST", body: '{"password":"secret"}' };
  await expect(transport.request(call)).rejects.toMatchObject({
    code: "tls_pin_mismatch",
    status: 502,
    data: { fingerprint: hex },
  });
  await expect(transport.upgrade({ ...get, protocol: "host-telnet" })).rejects.toMatchObject({ code: "tls_pin_mismatch" });
  expect([seen, received]).toEqual([[], 0]);
});

test("a self-signed certificate without a pin is not trusted and shows its fingerprint", async () => {
  using transport = new Transport({ url });
  await expect(transport.request(get)).rejects.toMatchObject({
    code: "tls_untrusted",
    status: 502,
    data: { fingerprint: hex },
  });
  expect([seen, received]).toEqual([[], 0]);
});

test("a certificate of a given authority is trusted without a pin, for the names it has only", async () => {
  using transport = new Transport({ url, ca: certificate });
  expect((await transport.request(get)).status).toBe(200);
  const other = createServer({ key, cert: certificate });
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.2", resolve));
  using byOtherAddress = new Transport({ url: `https://127.0.0.2:${(other.address() as AddressInfo).port}`, ca: certificate });
  await expect(byOtherAddress.request(get)).rejects.toMatchObject({
    code: "tls_untrusted",
    data: { reason: expect.stringContaining("ALTNAME") },
  });
  await new Promise((resolve) => other.close(resolve));
});

test("a connection is kept for the next request, and the pin holds for each new one", async () => {
  const ports = new Set<number>();
  answer = (request, response) => {
    ports.add(request.socket.remotePort!);
    response.end();
  };
  using transport = new Transport({ url, pin: fingerprint });
  for (let turn = 0; turn < 3; turn++) await transport.request(get);
  expect(ports.size).toBe(1);
});

test("a kept connection that the server has closed does not fail a repeatable request", async () => {
  using transport = new Transport({ url, pin: fingerprint });
  await transport.request(get);
  // Accepts the next request on the kept connection and breaks it, like a server whose idle time ran out at that moment.
  let broken = 0;
  answer = (request, response) => {
    if (broken++ === 0) request.socket.destroy();
    else response.end("again");
  };
  const { body } = await transport.request({ ...get, repeatable: true });
  expect([body.toString(), broken]).toEqual(["again", 2]);
  await transport.request(get);
  broken = 0;
  await expect(transport.request(get)).rejects.toMatchObject({ code: "host_unreachable" });
  expect(broken).toBe(1);
});

test("a port without a listener gives host_unreachable with the address", async () => {
  const closed = createTcpServer();
  await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  using transport = new Transport({ url: `https://127.0.0.1:${port}`, pin: fingerprint });
  await expect(transport.request(get)).rejects.toMatchObject({
    code: "host_unreachable",
    message: `no connection to https://127.0.0.1:${port}: connection refused`,
  });
});

test("a server without TLS is reported as such, and an http URL is refused before a connection is opened", async () => {
  let dialled = 0;
  const other = createTcpServer((socket) => {
    dialled++;
    socket.resume().end("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as AddressInfo;
  using transport = new Transport({ url: `https://127.0.0.1:${port}` });
  await expect(transport.request(get)).rejects.toMatchObject({ code: "host_unreachable", message: expect.stringContaining("TLS") });
  expect(dialled).toBe(1);
  expect(() => new Transport({ url: `http://127.0.0.1:${port}` })).toThrow(expect.objectContaining({ code: "tls_required" }));
  await new Promise((resolve) => other.close(resolve));
  expect(dialled).toBe(1);
});

test("a time-out ends a missing response, a half response and a silent handshake", async () => {
  answer = (request, response) => {
    if (request.url === "/half") response.write("half");
  };
  using transport = new Transport({ url, pin: fingerprint });
  await expect(transport.request({ ...get, timeoutMs: 100 })).rejects.toMatchObject({ code: "host_timeout" });
  await expect(transport.request({ ...get, path: "/half", timeoutMs: 100 })).rejects.toMatchObject({ code: "host_timeout" });
  const silent = createTcpServer();
  const sockets = new Set<Duplex>();
  silent.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  using other = new Transport({ url: `https://127.0.0.1:${(silent.address() as AddressInfo).port}` });
  await expect(other.request({ ...get, timeoutMs: 100 })).rejects.toMatchObject({ code: "host_timeout" });
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => silent.close(resolve));
});

test("aborting throws the signal's reason, before and during a call", async () => {
  answer = () => undefined;
  using transport = new Transport({ url, pin: fingerprint });
  const reason = new Error("no longer wanted");
  await expect(transport.request({ ...get, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(seen).toEqual([]);
  const controller = new AbortController();
  answer = () => controller.abort(reason);
  await expect(transport.request({ ...get, signal: controller.signal })).rejects.toBe(reason);
  expect(seen).toEqual(["GET /x"]);
});

test("a response over the limit is not read to its end", async () => {
  answer = (_request, response) => response.end("x".repeat(5000));
  using transport = new Transport({ url, pin: fingerprint });
  await expect(transport.request({ ...get, maxBytes: 1000 })).rejects.toMatchObject({ code: "payload_too_large" });
  expect((await transport.request({ ...get, maxBytes: 5000 })).body.length).toBe(5000);
});

test("a stream gives its headers at once and its bytes as they come", async () => {
  let finish: (() => void) | undefined;
  answer = (_request, response) => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.write("one\n");
    finish = () => response.end("two\n");
  };
  using transport = new Transport({ url, pin: fingerprint });
  const { status, headers, body } = await transport.stream(get);
  expect([status, headers["content-type"]]).toEqual([200, "application/x-ndjson"]);
  finish?.();
  expect(await text(body)).toBe("one\ntwo\n");
});

test("an upgrade gives the connection with the bytes that came along with the 101", async () => {
  upgrade = (request, socket) => {
    seen.push(String(request.headers.upgrade));
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: host-telnet\r\n\r\nbanner:");
    socket.once("data", (chunk) => socket.end(chunk));
  };
  using transport = new Transport({ url: `${url}/base/`, pin: fingerprint });
  const upgraded = await transport.upgrade({ ...get, protocol: "host-telnet" });
  if (!("connection" in upgraded)) throw new Error("refused");
  upgraded.connection.write("echo");
  expect((await buffer(upgraded.connection)).toString()).toBe("banner:echo");
  expect(seen).toEqual(["host-telnet"]);
});

test("a listener gets the bytes of an upgraded connection that came before and all that follow, in one memory, and a pause holds them back", async () => {
  const all = Buffer.from(Array.from({ length: 3 << 20 }, (_, at) => (at * 7 + (at >> 8)) & 255));
  upgrade = (_request, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: host-process\r\n\r\n");
    socket.end(all);
  };
  using transport = new Transport({ url, pin: fingerprint });
  const upgraded = await transport.upgrade({ ...get, protocol: "host-process" });
  if (!("connection" in upgraded)) throw new Error("refused");
  const { connection } = upgraded;
  const got: Buffer[] = [];
  const memories = new Set<ArrayBufferLike>();
  const ended = new Promise((resolve) => connection.once("end", resolve));
  listenTo(connection, (bytes) => {
    got.push(Buffer.from(bytes));
    memories.add(bytes.buffer);
    if (got.length % 50 !== 0) return;
    connection.pause();
    setImmediate(() => connection.resume());
  });
  await ended;
  expect(Buffer.concat(got).equals(all)).toBe(true);
  // Those that came before have memory of their own.
  expect(memories.size).toBeLessThan(10);
});

test("a refused upgrade gives the whole response", async () => {
  upgrade = (_request, socket) => {
    const body = '{"ok":false,"error":"used","code":"browser_token_invalid"}';
    socket.end(`HTTP/1.1 403 Forbidden\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
  };
  using transport = new Transport({ url, pin: fingerprint });
  const upgraded = await transport.upgrade({ ...get, protocol: "host-telnet" });
  if (!("refusal" in upgraded)) throw new Error("granted");
  expect([upgraded.refusal.status, JSON.parse(upgraded.refusal.body.toString())]).toEqual([
    403,
    { ok: false, error: "used", code: "browser_token_invalid" },
  ]);
});

test("plain HTTP is used only if it is allowed, and bytes are sent unchanged", async () => {
  const plain = createPlainServer((request, response) => {
    buffer(request).then((body) => response.end(`${request.headers["content-length"]} ${body.toString("hex")}`));
  });
  await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
  const open = `http://127.0.0.1:${(plain.address() as AddressInfo).port}`;
  expect(() => new Transport({ url: open, plainHttp: false })).toThrow(expect.objectContaining({ code: "tls_required" }));
  using transport = new Transport({ url: open, plainHttp: true });
  const { body } = await transport.request({ method: "POST", path: "/", body: Uint8Array.of(0, 255, 128), timeoutMs: 5000 });
  expect(body.toString()).toBe("3 00ff80");
  await new Promise((resolve) => plain.close(resolve));
});
