import { afterAll, beforeAll, expect, test } from "vitest";
import { Failure } from "../../src/contract/errors.ts";
import { testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import type { RawClient } from "./raw-client.ts";
import { cookieIn, openSocket, type Served, serve, users } from "./served.ts";

const yaml = `name: quiet
nodes:
  r1:
    template: frr
    env: {KEY: env-secret}
    exec: ["echo exec-secret"]
    startup-config: r1.conf
  h1:
    template: linux
    startup-config: |
      echo inline-secret
links: [["r1:eth0", "h1:eth0"]]
`;
const files = { "r1.conf": "username admin password config-secret\n" };
const page = { "Sec-Fetch-Site": "same-origin", "X-Labwright-Csrf": "1" };

let broken: "host_error" | "defect" | undefined;
function fail(): void {
  if (broken === "host_error") throw new Failure("host_error", "no room", { data: { host: { message: "no room" } } });
  if (broken === "defect") throw new TypeError("a defect");
}

let served: Served;
let ann: RawClient;

beforeAll(async () => {
  const host = memoryHost({ users, beforeStep: fail });
  served = await serve({
    host,
    service: { webUi: { page: () => "https://localhost/lab", capturePage: () => "https://localhost/capture" } },
  });
  ann = await served.signIn("ann");
});
afterAll(() => served[Symbol.asyncDispose]());

/** Everything that a session has of secrets, used rightly and wrongly, and a look at every line that was logged meanwhile. */
test("no password, token, ticket, cookie, console text or intent is logged, at the most talkative level", async () => {
  const secrets: string[] = [
    "ann-password",
    ann.token ?? "",
    "wrong-password",
    "env-secret",
    "exec-secret",
    "config-secret",
    "inline-secret",
  ];
  secrets.push("typed-secret", "command-secret", "dialogue-secret", "expected-secret", "broken-secret", "key-secret");
  const attach = async (): Promise<string> => {
    const { stream } = (await ann.post("/api/v1/console/attach", { lab: "/quiet", node: "r1" })).json.data;
    secrets.push(stream);
    return stream;
  };
  await ann.post("/api/v1/login", { username: "ann", password: "wrong-password" }, { bearer: null });
  await ann.post("/api/v1/login", '{"username":"ann","password":"wrong-password"', { bearer: null });
  await ann.post("/api/v1/login", { username: "wrong-password", password: "x", extra: "wrong-password" }, { bearer: null });
  const body = { yaml, files };
  await ann.post("/api/v1/projects/deploy", body, { headers: { "Idempotency-Key": "key-secret" } });
  // Used rightly, wrongly, and where the host or the console fails.
  for (const path of ["validate", "plan", "deploy", "reconcile"]) {
    await ann.post(`/api/v1/projects/${path}`, body);
    await ann.post(`/api/v1/projects/${path}`, { yaml: yaml.replace("template: frr", "template: nope"), files });
    await ann.post(`/api/v1/projects/${path}`, { yaml: `${yaml}broken-secret: {a: [`, files });
    await ann.post(`/api/v1/projects/${path}`, { yaml: `${yaml}broken-secret: 1\n`, files });
    await ann.post(`/api/v1/projects/${path}`, { yaml, files: { "../broken-secret": "broken-secret" } });
  }
  for (const text of ["", ', "node": 7', ', "node": "broken-secret"'])
    await ann.post("/api/v1/console/exec", `{"lab": "/quiet", "command": "echo command-secret"${text || ', "node": "r1"'}}`);
  await ann.post("/api/v1/console/exec", { lab: "/quiet", node: "r1", command: "sleep command-secret", timeout_ms: 20 });
  await ann.post("/api/v1/console/exec-many", { lab: "/quiet", targets: [{ node: "r1", command: "command-secret" }] });
  const steps = [{ send: "echo dialogue-secret", secret: true, expect: "expected-secret", timeout_ms: 20 }];
  expect((await ann.post("/api/v1/console/run", { lab: "/quiet", node: "r1", steps })).status).toBe(504);
  const wrong = [{ ...steps[0], expect: { regex: "(expected-secret" } }];
  expect((await ann.post("/api/v1/console/run", { lab: "/quiet", node: "r1", steps: wrong })).status).toBe(400);
  await ann.post("/api/v1/projects/edit", {
    lab: "/quiet",
    section: "nodes",
    value: { r1: { template: "frr", env: { KEY: "env-secret", X: [] } } },
  });
  await ann.post("/api/v1/projects/import", { lab: "/quiet" });
  broken = "host_error";
  await ann.post("/api/v1/projects/deploy", { ...body, lab: "/other" });
  broken = "defect";
  await ann.post("/api/v1/projects/deploy", { ...body, lab: "/third" });
  broken = undefined;

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
  const halfway = await ann.secure(
    `GET /api/v1/console/stream/${await attach()} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann.token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n`,
  );
  await halfway.ended();
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
  expect(secrets).toHaveLength(19);
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(9);
    expect(served.log.filter((line) => line.includes(secret))).toEqual([]);
    expect(metrics.text).not.toContain(secret);
  }
});

test.skipIf(process.getuid?.() !== 0)("nor by the embedded host, where nodes fail and packets are looked at", async () => {
  await using local = await testLocalHost();
  await using embedded = await serve({ host: local.host });
  const admin = await embedded.signIn("admin", "test");
  const secrets = [admin.token ?? "", "env-secret", "exec-secret", "config-secret", "command-secret", "filter-secret"];
  const text = `name: quiet
nodes:
  h1: {template: linux, env: {KEY: env-secret}, startup-config: h1.sh, exec: ["false exec-secret"]}
  h2: {template: linux, exec: ["echo exec-secret"]}
links: [["h1:eth0", "h2:eth0"]]
`;
  const deploy = await admin.post("/api/v1/projects/deploy", { yaml: text, files: { "h1.sh": "echo config-secret; exit 3\n" } });
  expect(deploy.status).toBe(200);
  const exec = async () => (await admin.post("/api/v1/console/exec", { lab: "/quiet", node: "h2", command: "echo command-secret" })).json;
  await expect.poll(exec).toMatchObject({ data: { output: "command-secret" } });
  await admin.post("/api/v1/console/exec", { lab: "/quiet", node: "h2", command: "sleep command-secret", timeout_ms: 20 });
  await admin.post("/api/v1/projects/capture", { lab: "/quiet", node: "h2", interface: "eth0", filter: "host filter-secret" });
  const { capture } = (await admin.post("/api/v1/projects/capture", { lab: "/quiet", node: "h2", interface: "eth0" })).json.data;
  for (const [path, stream] of [
    [`/api/v1/projects/captures/${capture}/attach`, "/api/v1/projects/captures/stream"],
    ["/api/v1/projects/traffic/attach", "/api/v1/projects/traffic/stream"],
  ]) {
    const ticket = (await admin.post(path!, { lab: "/quiet" })).json.data.stream;
    secrets.push(ticket);
    const { socket } = openSocket(embedded.url, `${stream}/${ticket}`, { Authorization: `Bearer ${admin.token}` });
    await expect.poll(() => socket.readyState).toBe(socket.OPEN);
    socket.terminate();
    await admin.get(`${stream}/${ticket}`);
  }
  await admin.post("/api/v1/projects/destroy", { lab: "/quiet" });
  const seen = [...embedded.log, ...local.warnings];
  expect(seen.length).toBeGreaterThan(10);
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(9);
    expect(seen.filter((line) => line.includes(secret))).toEqual([]);
  }
});
