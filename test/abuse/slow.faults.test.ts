import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { connect as connectSecure } from "node:tls";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { converse } from "./converse.ts";
import { call, login } from "./fuzz.ts";
import { Pipe } from "./pipe.ts";
import { ServiceProcess } from "./service-process.ts";

let service: ServiceProcess;
let open: Socket[];
/** Another service, for what takes long by itself. */
let patient: ServiceProcess;
let oldest: { readonly ticket: string; readonly token: string; readonly at: number };

beforeAll(async () => {
  patient = await ServiceProcess.start();
  const token = await login(patient);
  const yaml = "name: old\nnodes: {a: {template: linux, start: true}}\n";
  await call(patient, "POST", "/api/v1/projects/deploy", token, { yaml });
  const { json } = await call(patient, "POST", "/api/v1/console/attach", token, { lab: "/old" });
  oldest = { ticket: (json.data as { readonly stream: string }).stream, token, at: performance.now() };
});
afterAll(() => patient[Symbol.asyncDispose]());

beforeEach(() => {
  open = [];
});
afterEach(async () => {
  for (const socket of open) socket.destroy();
  await service[Symbol.asyncDispose]();
});

function hold(socket: Socket): Socket {
  open.push(socket);
  // The process's descriptors show whether the connection is still open.
  socket.on("error", () => {});
  return socket;
}

function plain(bytes: Buffer | string = ""): Socket {
  const socket = hold(connect(service.port, "127.0.0.1"));
  socket.once("connect", () => bytes.length > 0 && socket.write(bytes));
  return socket;
}

function secure(text: string): Socket {
  const socket = hold(connectSecure({ port: service.port, host: "127.0.0.1", rejectUnauthorized: false }));
  socket.once("secureConnect", () => socket.write(text));
  return socket;
}

const clientHello = Buffer.from("1603010200010001fc0303", "hex");

test("connections that begin and do not go on neither hold others up nor stay", async () => {
  service = await ServiceProcess.start();
  const token = await login(service);
  await call(service, "GET", "/health");
  await wait(200);
  // A thread that waits for large intents, soon after the start, has five.
  const before = service.fds() + 5;
  const each = 30;
  for (let index = 0; index < each; index++) {
    plain();
    plain("G");
    plain("GET / HTTP/1.1\r\nHost: ");
    plain(clientHello);
    secure("");
    secure("GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    secure(`POST /api/v1/projects/plan HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`);
    secure("GET /health HTTP/1.1\r\nHost: x\r\n\r\n").once("data", function (this: Socket) {
      // Half open: the client sends no more, and keeps reading.
      this.end();
    });
  }
  // One byte of a header now and then does not make it longer.
  const drip = setInterval(() => {
    for (const socket of open) if (socket.writable) socket.write("x");
  }, 1_000);
  // The clients without TLS that have sent something are answered at once.
  await expect.poll(() => service.fds()).toBeGreaterThan(before + 4 * each);
  try {
    const pipe = await Pipe.open(service.port);
    const bytes = Buffer.from(`GET /api/v1/session HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    let worst = 0;
    for (let round = 0; round < 50; round++) {
      const asked = performance.now();
      const { replies } = await pipe.exchange([{ method: "GET", bytes }], 30_000);
      expect(replies.map(({ status }) => status)).toEqual([200]);
      worst = Math.max(worst, performance.now() - asked);
      await wait(10);
    }
    pipe.close();
    expect(worst).toBeLessThan(15_000);
    // Those of a refused body may stay until the time of a whole request is over; all others are cut.
    await expect.poll(() => service.fds(), { timeout: 40_000, interval: 250 }).toBeLessThanOrEqual(before + 2 * each);
  } finally {
    clearInterval(drip);
  }
  for (const socket of open) socket.destroy();
  await expect.poll(() => service.fds()).toBeLessThanOrEqual(before);
});

test("a flood of connections leaves file descriptors for the service's own work, which goes on when they end", async () => {
  service = await ServiceProcess.start({ maxFds: 160 });
  const token = await login(service);
  const flood = Array.from({ length: 200 }, () => plain());
  await Promise.all(flood.map((socket) => Promise.race([once(socket, "connect"), once(socket, "close")])));
  await wait(500);
  expect(service.alive).toBe(true);
  // 64 of the 160 are not for connections. The service itself has about 32 of them open, and some more while it works.
  expect(service.fds()).toBeLessThan(160 - 16);
  for (const socket of open) socket.destroy();
  await expect.poll(async () => (await call(service, "GET", "/api/v1/session", token).catch(() => undefined))?.status).toBe(200);
});

test("a client that asks and does not read its answers makes the service keep little", async () => {
  service = await ServiceProcess.start();
  const token = await login(service);
  const before = service.rss();
  const request = `GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  for (let client = 0; client < 5; client++) {
    const socket = secure("");
    socket.pause();
    socket.once("secureConnect", () => socket.write(request.repeat(2_000)));
  }
  // The client asks for 3 GB of answers; the server makes only the part that is read.
  let most = 0;
  for (let round = 0; round < 30; round++) {
    await wait(100);
    most = Math.max(most, service.rss());
  }
  expect((most - before) / 2 ** 20).toBeLessThan(250);
  expect((await call(service, "GET", "/health")).status).toBe(200);
});

test("a ticket is void after thirty seconds", async () => {
  await wait(Math.max(0, oldest.at + 30_500 - performance.now()));
  const head = `GET /api/v1/console/stream/${oldest.ticket} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${oldest.token}\r\n`;
  const bytes = Buffer.from(`${head}Connection: Upgrade\r\nUpgrade: host-telnet\r\n\r\n`);
  const { replies } = await converse(patient.port, bytes, { waitMs: 30_000, quietMs: 0 });
  expect(replies.map(({ status, body }) => [status, JSON.parse(body.toString()).code])).toEqual([[403, "browser_token_invalid"]]);
});
