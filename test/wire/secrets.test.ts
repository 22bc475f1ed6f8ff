import { afterAll, beforeAll, expect, test } from "vitest";
import type { RawClient } from "./raw-client.ts";
import { cookieIn, openSocket, type Served, serve } from "./served.ts";

const yaml = "name: quiet\nnodes:\n  r1: {template: frr, env: {KEY: env-secret}}\n";
const page = { "Sec-Fetch-Site": "same-origin", "X-Labwright-Csrf": "1" };

let served: Served;
let ann: RawClient;

beforeAll(async () => {
  served = await serve({ service: { webUi: { page: () => "https://localhost/lab", capturePage: () => "https://localhost/capture" } } });
  ann = await served.signIn("ann");
});
afterAll(() => served[Symbol.asyncDispose]());

/** Everything that a session has of secrets, used rightly and wrongly, and a look at every line that was logged meanwhile. */
test("no password, token, ticket, cookie, console text or intent is logged, at the most talkative level", async () => {
  const secrets: string[] = ["ann-password", ann.token ?? "", "wrong-password", "env-secret", "typed-secret"];
  const attach = async (): Promise<string> => {
    const { stream } = (await ann.post("/api/v1/console/attach", { lab: "/quiet", node: "r1" })).json.data;
    secrets.push(stream);
    return stream;
  };
  await ann.post("/api/v1/login", { username: "ann", password: "wrong-password" }, { bearer: null });
  await ann.post("/api/v1/login", '{"username":"ann","password":"wrong-password"', { bearer: null });
  await ann.post("/api/v1/login", { username: "wrong-password", password: "x", extra: "wrong-password" }, { bearer: null });
  await ann.post("/api/v1/projects/deploy", { yaml });

  const bound = cookieIn(await ann.post("/api/v1/browser/session", {}));
  const { url } = (await ann.post("/api/v1/projects/open", { lab: "/quiet" })).json.data;
  const ticket = String(url).split("#ticket=")[1] ?? "";
  const opened = cookieIn(await ann.post("/api/v1/browser/session", { ticket }, { bearer: null }));
  await ann.post("/api/v1/browser/session", { ticket }, { bearer: null });
  secrets.push(bound.value, opened.value, ticket);
  await ann.get("/api/v1/session", { bearer: null, headers: { Cookie: bound.header } });
  await ann.get("/api/v1/session", { bearer: null, headers: { Cookie: bound.header, Origin: "https://evil.example" } });

  const used = await attach();
  const { socket, heard } = openSocket(served.url, `/api/v1/console/stream/${used}`, { Cookie: bound.header, Origin: served.url });
  await expect.poll(heard).toContain("r1# ");
  socket.send(Buffer.from("echo typed-secret\r"));
  await expect.poll(heard).toContain("\r\ntyped-secret\r\n");
  socket.send("resize typed-secret");
  await expect.poll(() => socket.readyState).toBe(socket.CLOSED);
  const again = openSocket(served.url, `/api/v1/console/stream/${used}`, { Cookie: bound.header, Origin: served.url });
  await expect.poll(again.refused).toMatchObject({ status: 403 });
  await ann.get(`/api/v1/console/stream/${await attach()}`);
  const broken = await ann.secure(
    `GET /api/v1/console/stream/${await attach()} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann.token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n`,
  );
  await broken.ended();
  const malformed = await ann.secure(`GET /api/v1/session?token=${ann.token} NONSENSE\r\nAuthorization: Bearer ${ann.token}\r\n\r\n`);
  await malformed.ended();

  const events = await ann.secure(
    `GET /api/v1/events?after=${ann.token} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann.token}\r\n\r\n`,
  );
  await expect.poll(events.heard).toContain("restart");
  events.socket.destroy();
  const metrics = await (await served.signIn("eve")).get("/metrics");
  await ann.call("POST", "/api/v1/logout", { bearer: null, body: "{}", headers: { Cookie: opened.header, ...page } });

  const logged = () => served.log.join("");
  await expect.poll(logged).toContain('"operation":"logout"');
  expect(served.log.length).toBeGreaterThan(20);
  expect(secrets).toHaveLength(11);
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(9);
    expect(logged()).not.toContain(secret);
    expect(metrics.text).not.toContain(secret);
  }
});
