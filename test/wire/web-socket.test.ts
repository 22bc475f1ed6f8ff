import { Duplex } from "node:stream";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Host } from "../../src/hosts/host.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import type { RawClient } from "./raw-client.ts";
import { cookieIn, heldBytes, openSocket, type Served, serve, type TestSocket, users } from "./served.ts";

const yaml = "name: ws\nnodes:\n  r1: {template: frr}\n  r2: {template: frr}\n";

let served: Served;
let client: RawClient;
let cookie: string;
let open: TestSocket[] = [];

beforeAll(async () => {
  served = await serve();
  client = await served.signIn("ann");
  await client.post("/api/v1/projects/deploy", { yaml });
  cookie = cookieIn(await client.post("/api/v1/browser/session", {})).header;
});
afterEach(() => {
  for (const { socket } of open) socket.terminate();
  open = [];
});
afterAll(() => served[Symbol.asyncDispose]());

async function ticketOf(from = client, node = "r1"): Promise<string> {
  return (await from.post("/api/v1/console/attach", { lab: "/ws", node })).json.data.stream;
}

function socketOf(ticket: string, headers: Readonly<Record<string, string>>): TestSocket {
  const socket = openSocket(served.url, `/api/v1/console/stream/${ticket}`, headers);
  open.push(socket);
  return socket;
}

const byPage = () => ({ Cookie: cookie, Origin: served.url });
const byToken = () => ({ Authorization: `Bearer ${client.token}` });

test("a page's WebSocket carries the console's bytes both ways, in binary frames, with a request id in the 101", async () => {
  const { socket, heard, frames } = socketOf(await ticketOf(), byPage());
  let headers: NodeJS.Dict<string | string[]> = {};
  socket.on("upgrade", (response) => {
    headers = response.headers;
  });
  await expect.poll(heard).toContain("r1# ");
  expect(headers["x-request-id"]).toMatch(/^[\w-]+$/);
  socket.send(Buffer.from("echo by web\r"));
  await expect.poll(heard).toContain("\r\nby web\r\nr1# ");
  expect(frames.every(({ binary }) => binary)).toBe(true);
  const late = socketOf(await ticketOf(), byToken());
  await expect.poll(late.heard).toContain("by web");
});

test("the raw stream and a WebSocket are viewers of one console", async () => {
  const { socket, heard } = socketOf(await ticketOf(client, "r2"), byPage());
  const raw = await client.secure(
    `GET /api/v1/console/stream/${await ticketOf(client, "r2")} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\nConnection: Upgrade\r\nUpgrade: host-telnet\r\n\r\n`,
  );
  await expect.poll(raw.heard).toContain("r2# ");
  raw.socket.write("echo from raw\r");
  await expect.poll(heard).toContain("\r\nfrom raw\r\n");
  socket.send(Buffer.from("echo from web\r"));
  await expect.poll(raw.heard).toContain("\r\nfrom web\r\n");
  raw.socket.destroy();
});

test.each<[string, () => Record<string, string>, number, string]>([
  ["no proof of who it is", () => ({}), 401, "unauthenticated"],
  ["a page of another origin", () => ({ ...byPage(), Origin: "https://evil.example" }), 401, "unauthenticated"],
  ["a page of another port of this host", () => ({ ...byPage(), Origin: "https://127.0.0.1:1" }), 401, "unauthenticated"],
  ["a cookie and no origin", () => ({ Cookie: cookie }), 401, "unauthenticated"],
  ["a made-up cookie", () => ({ ...byPage(), Cookie: "__Host-labwright=x" }), 401, "unauthenticated"],
])("%s is refused with an envelope, and the ticket is still good", async (_name, headers, status, code) => {
  const ticket = await ticketOf();
  const first = socketOf(ticket, headers());
  await expect.poll(first.refused).toMatchObject({ status, json: { ok: false, code } });
  expect(first.refused()?.headers["x-request-id"]).toBeTruthy();
  const second = socketOf(ticket, byPage());
  await expect.poll(second.heard).toContain("r1# ");
});

test.each([
  ["another version of the protocol", "Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"],
  ["no key", "Sec-WebSocket-Version: 13\r\n"],
  ["a key that is none", "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n"],
])("a handshake with %s is bad_request, and the ticket is still good", async (_name, lines) => {
  const ticket = await ticketOf();
  const refused = await client.secure(
    `GET /api/v1/console/stream/${ticket} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${lines}\r\n`,
  );
  await refused.ended();
  expect(refused.heard()).toMatch(/^HTTP\/1\.1 400 .*Sec-WebSocket-Version: 13.*"code":"bad_request"/is);
  await expect.poll(socketOf(ticket, byPage()).heard).toContain("r1# ");
});

test("a ticket is good once, and for its own session only", async () => {
  const ticket = await ticketOf();
  const first = socketOf(ticket, byPage());
  await expect.poll(first.heard).toContain("r1# ");
  const again = socketOf(ticket, byPage());
  await expect.poll(again.refused).toMatchObject({ status: 403, json: { code: "browser_token_invalid" } });
  const bob = await served.signIn("bob");
  const ofBob = cookieIn(await bob.post("/api/v1/browser/session", {})).header;
  const stolen = socketOf(await ticketOf(), { ...byPage(), Cookie: ofBob });
  await expect.poll(stolen.refused).toMatchObject({ status: 403, json: { code: "browser_token_invalid" } });
});

test.each<[string, (socket: TestSocket["socket"]) => void, number]>([
  ["a frame over 1 MiB", (socket) => socket.send(Buffer.alloc((1 << 20) + 1, 0x20)), 1009],
  [
    "fragments that come to over 1 MiB",
    (socket) => {
      for (let index = 0; index < 3; index++) socket.send(Buffer.alloc(500_000, 0x20), { fin: false });
    },
    1009,
  ],
  ["a text that is not JSON", (socket) => socket.send("resize"), 1008],
  ["a size of nothing", (socket) => socket.send('{"resize":[0,24]}'), 1008],
  ["a size without rows", (socket) => socket.send('{"resize":[80]}'), 1008],
  ["a text that is too long", (socket) => socket.send(`{"resize":[80,24],"a":"${"a".repeat(1024)}"}`), 1008],
])("%s closes the socket with its code", async (_name, send, code) => {
  const { socket, heard, closed } = socketOf(await ticketOf(), byPage());
  await expect.poll(heard).toContain("r1# ");
  send(socket);
  await expect.poll(closed).toBe(code);
});

test("what a newer client may say in a text frame is ignored", async () => {
  const { socket, heard, closed } = socketOf(await ticketOf(), byPage());
  await expect.poll(heard).toContain("r1# ");
  socket.send('{"colour":"blue"}');
  socket.send('{"resize":[132,43]}');
  socket.send(Buffer.from("echo still here\r"));
  await expect.poll(heard).toContain("\r\nstill here\r\n");
  expect(closed()).toBeUndefined();
});

test("a peer that answers no ping is cut off, one that does is left alone", async () => {
  await using asking = await serve({ server: { webSockets: { pingMs: 300 } } });
  const ann = await asking.signIn("ann");
  await ann.post("/api/v1/projects/deploy", { yaml });
  const view = async () => {
    const ticket = await ticketOf(ann);
    const seen = openSocket(asking.url, `/api/v1/console/stream/${ticket}`, { Authorization: `Bearer ${ann.token}` });
    open.push(seen);
    return seen;
  };
  const [mute, polite] = [await view(), await view()];
  await expect.poll(mute.heard).toContain("r1# ");
  let pings = 0;
  polite.socket.on("ping", () => pings++);
  // The library's own answer is removed.
  mute.socket.pong = () => {};
  await expect.poll(mute.closed).toBe(1006);
  await expect.poll(() => pings).toBeGreaterThan(3);
  expect(polite.closed()).toBeUndefined();
});

/** The memory host, with one console that says what `node` is given, and keeps what is typed there. */
function talkingHost(): { readonly host: Host; readonly node: Duplex; readonly typed: () => number } {
  const inner = memoryHost({ users });
  let typed = 0;
  const node = new Duplex({
    read: () => {},
    write: (bytes: Buffer, _encoding, done) => {
      typed += bytes.length;
      done();
    },
  });
  const host: Host = {
    ...inner,
    login: async (user, password) => ({ ...(await inner.login(user, password)), console: async () => ({ stream: node }) }),
  };
  return { host, node, typed: () => typed };
}

test("a viewer that does not read loses bytes and sees how many; it holds up neither the node nor the others, and memory stays", async () => {
  const { host, node } = talkingHost();
  await using slow = await serve({ host, server: { webSockets: { pingMs: 60_000 } } });
  const ann = await slow.signIn("ann");
  await ann.post("/api/v1/projects/deploy", { yaml });
  const view = async () => {
    const ticket = (await ann.post("/api/v1/console/attach", { lab: "/ws", node: "r1" })).json.data.stream as string;
    const seen = openSocket(slow.url, `/api/v1/console/stream/${ticket}`, { Authorization: `Bearer ${ann.token}` });
    open.push(seen);
    await expect.poll(() => seen.socket.readyState).toBe(seen.socket.OPEN);
    return seen;
  };
  const [stuck, reader] = [await view(), await view()];
  stuck.socket.pause();
  let received = 0;
  reader.socket.removeAllListeners("message").on("message", (data: Buffer) => {
    received += data.length;
  });
  const before = heldBytes();
  const chunk = Buffer.alloc(64 << 10, "x");
  for (let said = chunk.length; said <= 64 << 20; said += chunk.length) {
    node.push(chunk);
    if (said % (1 << 19) === 0) await expect.poll(() => received, { interval: 1 }).toBe(said);
  }
  // A thread of its own frees garbage, which may be late on a busy machine; memory in use stays.
  await expect.poll(() => heldBytes() - before, { timeout: 40_000, interval: 100 }).toBeLessThan(8 << 20);
  stuck.socket.resume();
  await expect.poll(stuck.heard).toMatch(/this viewer reads too slowly\]\r\n$/);
  // It goes on with what comes from then on.
  node.push(Buffer.from("and on"));
  await expect.poll(stuck.heard).toMatch(/\]\r\nand on$/);
  expect([stuck.closed(), reader.closed()]).toEqual([undefined, undefined]);
});

test("a node that takes no input holds up who types, not the service", async () => {
  const { host, node } = talkingHost();
  await using full = await serve({ host });
  const ann = await full.signIn("ann");
  await ann.post("/api/v1/projects/deploy", { yaml });
  node._write = () => {};
  const ticket = (await ann.post("/api/v1/console/attach", { lab: "/ws", node: "r1" })).json.data.stream as string;
  const { socket } = openSocket(full.url, `/api/v1/console/stream/${ticket}`, { Authorization: `Bearer ${ann.token}` });
  await expect.poll(() => socket.readyState).toBe(socket.OPEN);
  const before = heldBytes();
  const paste = Buffer.alloc(64 << 10, "x");
  for (let sent = 0; sent < 32 << 20; sent += paste.length) socket.send(paste);
  // The kernel's buffers take some; the rest waits in the client.
  await expect.poll(() => socket.bufferedAmount).toBeLessThan(32 << 20);
  const left = socket.bufferedAmount;
  expect((await ann.get("/api/v1/session")).status).toBe(200);
  expect(left).toBeGreaterThan(8 << 20);
  await expect.poll(() => heldBytes() - before - left, { timeout: 40_000, interval: 100 }).toBeLessThan(8 << 20);
  socket.terminate();
});

test("a logout closes the sockets of its session, and a stopped node those of its console", async () => {
  const other = await served.signIn("ann");
  const ended = socketOf(await ticketOf(other), { Authorization: `Bearer ${other.token}` });
  const stays = socketOf(await ticketOf(client, "r2"), byPage());
  await expect.poll(ended.heard).toContain("r1# ");
  await expect.poll(stays.heard).toContain("r2# ");
  await other.post("/api/v1/logout", {});
  await expect.poll(ended.closed).toBe(1001);
  await client.post("/api/v1/projects/exec", { lab: "/ws", action: "stop", node: "r2" });
  await expect.poll(stays.closed).toBe(1000);
});

test("the server's end does not wait for open sockets", async () => {
  const ending = await serve();
  const ann = await ending.signIn("ann");
  await ann.post("/api/v1/projects/deploy", { yaml });
  const ticket = (await ann.post("/api/v1/console/attach", { lab: "/ws", node: "r1" })).json.data.stream;
  const last = openSocket(ending.url, `/api/v1/console/stream/${ticket}`, { Authorization: `Bearer ${ann.token}` });
  await expect.poll(last.heard).toContain("r1# ");
  await ending[Symbol.asyncDispose]();
  await expect.poll(last.closed).toBe(1006);
});
