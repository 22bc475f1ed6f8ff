import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type OperationRow, operations } from "../../src/contract/operations.ts";
import type { RawClient, RawConnection } from "./raw-client.ts";
import { cookieIn, type Served, serve } from "./served.ts";

/** HTTP itself: methods, hosts, slow clients, and many clients. */

let served: Served;
let client: RawClient;
const connections: RawConnection[] = [];

async function begin(server: Parameters<typeof serve>[0] = {}): Promise<void> {
  served = await serve({ ...server, server: { headerWaitMs: 400, ...server?.server } });
  client = await served.signIn("ann");
}

beforeEach(() => begin());
afterEach(async () => {
  for (const { socket } of connections.splice(0)) socket.destroy();
  await served[Symbol.asyncDispose]();
});

async function open(text: string): Promise<RawConnection> {
  const connection = await client.secure(text);
  // It may be reset.
  connection.socket.on("error", () => {});
  connections.push(connection);
  return connection;
}

const login = (length: number, body: string) =>
  `POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;

describe("a connection", () => {
  test("that never asks for anything is closed without a word", async () => {
    const { socket, heard, ended } = await open("");
    socket.resume();
    await ended();
    expect(heard()).toBe("");
  });

  test("with a header that does not end gets an error, and is closed", async () => {
    const { heard, ended } = await open("GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    await ended();
    expect(heard()).toMatch(/^HTTP\/1\.1 400 .*took too long/s);
  });

  test("that waits for its next request is closed without a word when it is idle for too long", async () => {
    const { heard, ended, socket } = await open("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    await expect.poll(heard).toMatch(/"ok":true/);
    socket.end();
    await ended();
    expect(heard().match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  test.each([
    ["nobody has signed in on", "", 400],
    ["a ticket is expected on", "", 400],
  ])("whose body stops half way, where %s, is answered and closed", async (name, _text, status) => {
    const text = name.includes("ticket") ? login(100, '{"ticket":').replace("/login", "/browser/session") : login(100, '{"username":');
    const { heard, ended } = await open(text);
    await ended();
    expect(heard()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*connection: close.*the body took too long to arrive`, "is"));
  });

  test("whose refused body does not go on is closed", async () => {
    const { heard, ended } = await open(login(100, "{").replace("/login", "/projects/plan"));
    await expect.poll(heard).toMatch(/^HTTP\/1\.1 401 /);
    await ended();
    expect(heard().match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  test("with a token may send its body slowly", async () => {
    const body = '{"yaml":"name: slow\\n"}';
    const head = `POST /api/v1/projects/validate HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\nContent-Type: application/json\r\n`;
    const { socket, heard } = await open(`${head}Content-Length: ${body.length}\r\n\r\n`);
    const other = await open("");
    // Longer than a client without a token has.
    await other.ended();
    socket.write(body);
    await expect.poll(heard).toMatch(/^HTTP\/1\.1 200 .*"status":"valid"/s);
  });
});

describe("more connections than there may be", () => {
  beforeEach(async () => {
    await served[Symbol.asyncDispose]();
    await begin({ server: { maxConnections: 20, headerWaitMs: 10_000 } });
  });

  test("end those that never sent a whole request, and nobody who is served; new ones are served again when others have ended", async () => {
    const stream = await open(`GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\n\r\n`);
    await expect.poll(stream.heard).toContain("200 OK");
    const many = await Promise.allSettled(Array.from({ length: 40 }, () => open("GET /api/v1/events HTTP/1.1\r\nHost: x\r\nX-Slow: ")));
    expect(many.some(({ status }) => status === "fulfilled")).toBe(true);
    await expect.poll(() => connections.filter(({ socket }) => !socket.destroyed).length).toBeLessThanOrEqual(20);
    await expect.poll(() => served.log.filter((line) => line.includes("the maximum of connections is open")).length).toBe(1);
    // Connections that are served already stay.
    expect([stream.socket.destroyed, stream.heard()]).toEqual([false, expect.stringContaining("200 OK")]);
    for (const { socket } of connections) socket.destroy();
    await expect
      .poll(() =>
        open("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
          .then(({ socket }) => once(socket, "data"))
          .then(
            () => true,
            () => false,
          ),
      )
      .toBe(true);
  });

  test("find room where others never sent a request", async () => {
    for (let count = 0; count < 30; count++) await open("");
    const { heard } = await open("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    await expect.poll(heard).toContain('"ok":true');
    // The oldest went first.
    expect(connections[0]?.socket.destroyed).toBe(true);
    expect(connections.at(-2)?.socket.destroyed).toBe(false);
  });

  test("find room where others wait idle for a next request", async () => {
    for (let count = 0; count < 60; count++) {
      const made = await open("GET /health HTTP/1.1\r\nHost: x\r\n\r\n").catch(() => undefined);
      if (made !== undefined) await expect.poll(() => made.heard().includes('"ok":true') || made.socket.destroyed).toBe(true);
    }
    const alive = async () => {
      const { heard, socket } = await open("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
      await expect.poll(() => heard().includes('"ok":true') || socket.destroyed).toBe(true);
      return heard().includes('"ok":true');
    };
    await expect.poll(() => alive().catch(() => false)).toBe(true);
  });
});

describe("HEAD", () => {
  const rows = (Object.values(operations) as OperationRow[]).filter(({ method, path }) => method === "GET" && !path.includes("{"));

  test.each(rows.map(({ path }) => path))("%s answers as GET does, without a body", async (path) => {
    const admin = await served.signIn("admin");
    const head = await admin.call("HEAD", path);
    expect(head.text).toBe("");
    expect(head.headers["x-request-id"]).toBeTruthy();
    if (path === "/api/v1/events") {
      expect(head.status).toBe(200);
      expect(head.headers["content-type"]).toContain("application/x-ndjson");
      return;
    }
    const get = await admin.get(path);
    expect(head.status).toBe(get.status);
    expect(head.headers["content-type"]).toBe(get.headers["content-type"]);
    // Figures of the service change between the two.
    if (path !== "/metrics") expect(head.headers["content-length"]).toBe(get.headers["content-length"]);
  });

  test("/health answers also without a token, and opens no stream", async () => {
    const stranger = await client.call("HEAD", "/health", { bearer: null });
    expect([stranger.status, stranger.text]).toEqual([200, ""]);
    expect((await client.call("HEAD", "/api/v1/session", { bearer: null })).status).toBe(401);
    expect((await client.call("HEAD", "/api/v1/console/stream/abc")).status).toBe(400);
    expect((await client.call("HEAD", "/api/v1/projects/plan")).status).toBe(405);
    expect((await client.call("HEAD", "/nowhere")).status).toBe(404);
  });

  test("of a browser needs no more proof than GET", async () => {
    const cookie = cookieIn(await client.post("/api/v1/browser/session", {})).header;
    const asked = (headers: Record<string, string>) =>
      client.call("HEAD", "/api/v1/session", { bearer: null, headers: { Cookie: cookie, ...headers } });
    expect((await asked({})).status).toBe(200);
    expect((await asked({ "Sec-Fetch-Site": "cross-site" })).status).toBe(401);
  });
});

const rest = "\r\nHost: x\r\nConnection: close\r\n\r\n";

test.each([`GET //%zz HTTP/1.1${rest}`, `M-SEARCH / HTTP/1.1${rest}`, "PRI *dHTTP/23n\r\n\r\nSM\r\n\r\n"])(
  "a request that no route takes, %j, is answered with a request id",
  async (bytes) => {
    const { heard } = await open(bytes);
    await expect.poll(heard).toMatch(/^HTTP\/1\.1 4\d\d .*x-request-id: [^\r]+\r\n.*"ok":false/is);
  },
);

describe("a request with two Host headers", () => {
  test.each(["GET /health", "GET /api/v1/session", "POST /api/v1/login", "GET /api/v1/console/stream/abc"])(
    "%s is bad_request",
    async (line) => {
      const { heard } = await open(
        `${line} HTTP/1.1\r\nHost: x\r\nhost: y\r\nConnection: close\r\nAuthorization: Bearer ${client.token}\r\n\r\n`,
      );
      await expect.poll(heard).toMatch(/^HTTP\/1\.1 400 .*Host is there more than once/s);
    },
  );
});

describe("a login body", () => {
  test.each(["__proto__", "constructor", "prototype", "toString"])("with the unknown field %s is refused by its name", async (name) => {
    const body = `{"username":"ann","password":"ann-password","${name}":"x"}`;
    const answer = await client.post("/api/v1/login", body, { bearer: null });
    expect([answer.status, answer.json.code, answer.json.data.problems]).toEqual([
      400,
      "unknown_field",
      [{ path: `/${name}`, message: "is unknown" }],
    ]);
  });

  test("whose __proto__ is an object gives nothing to its fields", async () => {
    const answer = await client.post("/api/v1/login", '{"username":"ann","__proto__":{"password":"ann-password"}}', { bearer: null });
    expect(answer.status).toBe(400);
    expect(answer.json.data.problems).toContainEqual({ path: "/password", message: "is required" });
  });
});
