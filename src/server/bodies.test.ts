import { expect, test } from "vitest";

import { BodyRoom } from "./requests/body-room.ts";
import { testServer, token } from "./server.fixture.ts";

const on = testServer();

test("a body over the limit answers 413 and the connection is used again", async () => {
  const body = Buffer.alloc(33_554_433, 0x20);
  const answer = await on.client.post("/api/v1/projects/plan", body);
  expect([answer.status, answer.json.code]).toEqual([413, "payload_too_large"]);
  on.replies = { getSession: () => ({}) };
  const next = await on.client.get("/api/v1/session");
  expect([next.status, next.reused]).toEqual([200, true]);
});

test("a chunked body over the limit answers 413, and the connection is used again", async () => {
  on.replies = { getHealth: () => ({}) };
  const chunk = `4000\r\n${" ".repeat(0x4000)}\r\n`;
  const head = "POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  const { socket, heard } = await on.client.secure(`${head}${chunk}${chunk}0\r\n\r\n`);
  await expect.poll(heard).toMatch(/^HTTP\/1\.1 413 .*"code":"payload_too_large"/s);
  socket.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
  await expect.poll(heard).toMatch(/HTTP\/1\.1 200 .*"ok":true/s);
  socket.destroy();
});

test("a body with a huge declared length is refused unread, and its connection is closed", async () => {
  const { heard, ended } = await on.client.secure(
    "POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{",
  );
  await ended();
  expect(heard()).toMatch(/^HTTP\/1\.1 413 .*connection: close.*"code":"payload_too_large"/is);
});

test("a body that is cut off does not reach the service", async () => {
  let called = false;
  on.replies = {
    login: () => {
      called = true;
      return {};
    },
  };
  const { socket } = await on.client.secure(
    "POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{}",
  );
  const lines = on.log.length;
  socket.end();
  await expect.poll(() => on.log.length).toBeGreaterThan(lines);
  expect(called).toBe(false);
});

test("a login body is limited to 16 KiB", async () => {
  const answer = await on.client.post("/api/v1/login", { username: "a".repeat(16_384), password: "b" }, { bearer: null });
  expect([answer.status, answer.json.code]).toEqual([413, "payload_too_large"]);
});

test("the largest body is read whole", async () => {
  on.replies = { planProject: ({ body }) => ({ text: String((body as { yaml: string }).yaml.length) }) };
  const yaml = "a".repeat(33_554_432 - '{"yaml":""}'.length);
  expect((await on.client.post("/api/v1/projects/plan", { yaml })).json.data.text).toBe(String(yaml.length));
});

test.each([
  ["empty", ""],
  ["an array", "[]"],
  ["null", "null"],
  ["a string", '"x"'],
  ["not UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ["a map of too many keys", `{"yaml":"","x":{${Array.from({ length: 100_001 }, (_, i) => `"f${i}":""`).join(",")}}}`],
  ["nested too deeply", `{"state":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
])("a body that is %s is bad_request", async (_name, body) => {
  on.replies = { planProject: () => ({}) };
  const answer = await on.client.post("/api/v1/projects/plan", body);
  expect([answer.status, answer.json.code]).toEqual([400, "bad_request"]);
  expect(answer.json.data.problems).toHaveLength(1);
});

test.each([["text/plain"], ["application/json; charset=utf-16"], ["application/x-www-form-urlencoded"]])(
  "a body of type %s answers 415",
  async (type) => {
    const answer = await on.client.call("POST", "/api/v1/projects/plan", { body: "{}", headers: { "Content-Type": type } });
    expect([answer.status, answer.json.code]).toEqual([415, "unsupported_media_type"]);
  },
);

test("an encoded body answers 415", async () => {
  const answer = await on.client.call("POST", "/api/v1/projects/plan", { body: "{}", headers: { "Content-Encoding": "gzip" } });
  expect([answer.status, answer.json.code]).toEqual([415, "unsupported_media_type"]);
});

test("keys such as __proto__ and constructor change nothing", async () => {
  let seen: unknown;
  on.replies = {
    planProject: ({ body }) => {
      seen = Object.assign({}, body);
      return {};
    },
  };
  const answer = await on.client.post(
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
  on.replies = {
    destroyProject: ({ body }) => {
      seen = body;
      return {};
    },
  };
  const body = { lab: "", wipe: false, stopmode: 0, state: null, source: null, node: "", extra: null };
  expect((await on.client.post("/api/v1/projects/destroy", body)).status).toBe(200);
  expect(seen).toEqual(body);
});

test("logout does not read its body", async () => {
  on.replies = { logout: ({ body }) => ({ status: body === undefined ? "ok" : "read" }) };
  for (const body of ["{}", "not json", undefined]) {
    expect((await on.client.call("POST", "/api/v1/logout", { body })).json).toEqual({ ok: true, data: { status: "ok" } });
  }
});

test("answers that a user does not read take the room of the user's bodies, and give it back when the connection ends", async () => {
  on.replies = { planProject: () => ({ text: "a".repeat(50_000_000) }), validateProject: () => ({}) };
  const body = JSON.stringify({ yaml: "name: x\n" });
  const request =
    `POST /api/v1/projects/plan HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  // One after another: while the process writes such an answer, it greets no other connection, whose time for that is limited.
  const unread: Awaited<ReturnType<typeof on.client.secure>>[] = [];
  for (let count = 0; count < 3; count++) {
    const client = await on.client.secure(request);
    unread.push(client);
    await expect.poll(() => client.socket.bytesRead).toBeGreaterThan(0);
    client.socket.pause();
  }
  const large = () => on.client.post("/api/v1/projects/validate", JSON.stringify({ yaml: "a".repeat(1_000_000) }));
  await expect.poll(async () => (await large()).json.code).toBe("overloaded");
  // Small bodies have room of their own.
  expect((await on.client.post("/api/v1/projects/validate", body)).status).toBe(200);
  for (const { socket } of unread) socket.destroy();
  await expect.poll(async () => (await large()).status).toBe(200);
});

test("the answers of one user do not stop the bodies of another", () => {
  const room = new BodyRoom();
  room.enter("ann").hold(200 << 20);
  expect(() => room.enter("ann").grow(1)).toThrow(/your requests/);
  expect(() => room.enter("bob").grow(32 << 20)).not.toThrow();
});
