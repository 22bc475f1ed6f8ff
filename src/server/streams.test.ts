import { expect, test } from "vitest";
import { Failure } from "../contract/errors.ts";

import { testServer, token, upgradeRequest } from "./server.fixture.ts";

const on = testServer();

test("an upgrade hands the raw connection over, with the bytes that came with it", async () => {
  on.replies = {
    streamConsole: ({ params }) => ({
      protocol: "host-telnet",
      attach: (connection: import("node:stream").Duplex) => {
        connection.write(`ticket ${(params as { ticket: string }).ticket}\n`);
        connection.pipe(connection);
      },
    }),
  };
  const { socket, heard, ended } = await on.client.secure(`${upgradeRequest("abc")}early `);
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
  expect(on.logged()).toContainEqual(expect.objectContaining({ operation: "streamConsole", status: 101, user: "ann" }));
});

test("a client that disconnects before its upgrade is decided aborts the call's signal", async () => {
  let seen: AbortSignal | undefined;
  on.replies = {
    streamConsole: async (_request, _caller, { signal }) => {
      seen = signal;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      throw new Failure("browser_token_invalid", "too late");
    },
  };
  const { socket } = await on.client.secure(upgradeRequest("abc"));
  await expect.poll(() => seen).toBeDefined();
  socket.destroy();
  await expect.poll(() => seen?.aborted).toBe(true);
});

test("a refused upgrade keeps its envelope", async () => {
  on.replies = {
    streamConsole: () => {
      throw new Failure("browser_token_invalid", "the ticket is used");
    },
  };
  const refused = await on.client.secure(upgradeRequest("abc"));
  await refused.ended();
  expect(refused.heard()).toMatch(/^HTTP\/1\.1 403 .*"code":"browser_token_invalid"/s);
  const stranger = await on.client.secure(upgradeRequest("abc", ""));
  await stranger.ended();
  expect(stranger.heard()).toMatch(/^HTTP\/1\.1 401 .*WWW-Authenticate: Bearer.*"code":"unauthenticated"/is);
});

test("a stream path without its upgrade is bad_request, and its ticket stays valid", async () => {
  let used = 0;
  on.replies = {
    streamConsole: () => {
      used++;
      return {};
    },
  };
  expect((await on.client.get("/api/v1/console/stream/abc")).json.code).toBe("bad_request");
  const { socket, heard } = await on.client.secure(
    upgradeRequest("abc").replace("Upgrade: host-telnet", "Upgrade: host-traffic").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
  );
  await expect.poll(heard).toContain("bad_request");
  socket.destroy();
  expect(used).toBe(0);
});

test("an Upgrade header on another path is ignored, and the body is read", async () => {
  on.replies = { planProject: ({ body }) => ({ lab: (body as { lab: string }).lab }) };
  const { socket, heard } = await on.client.secure(
    `POST /api/v1/projects/plan HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"lab":"/x"}`,
  );
  await expect.poll(heard).toMatch(/^HTTP\/1\.1 200 .*"lab":"\/x"/s);
  socket.destroy();
});

test("events are NDJSON, or SSE if requested, and continue after an id", async () => {
  on.replies = {
    events: async function* ({ query }) {
      yield { id: "7", at: "t", type: "heartbeat", data: (query as { after?: string }).after };
    },
  };
  const lines = await on.client.get("/api/v1/events?after=6");
  expect(lines.headers["content-type"]).toContain("application/x-ndjson");
  expect(lines.text).toBe('{"id":"7","at":"t","type":"heartbeat","data":"6"}\n');
  const sse = await on.client.get("/api/v1/events", { headers: { Accept: "text/event-stream", "Last-Event-ID": "5" } });
  expect(sse.headers["content-type"]).toContain("text/event-stream");
  expect(sse.text).toBe('id: 7\nevent: heartbeat\ndata: {"id":"7","at":"t","type":"heartbeat","data":"5"}\n\n');
  expect(sse.headers["x-request-id"]).toBeTruthy();
});

test("a reader of events that reads nothing is disconnected", async () => {
  let left = false;
  on.replies = {
    events: async function* () {
      try {
        for (let number = 1; ; number++) yield { id: String(number), at: "t", type: "node", data: "x".repeat(100_000) };
      } finally {
        left = true;
      }
    },
  };
  const { socket, heard } = await on.client.secure(`GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await expect.poll(heard).toContain('"id":"1"');
  socket.pause();
  await expect.poll(() => left).toBe(true);
  socket.destroy();
});
