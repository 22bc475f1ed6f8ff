import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { connect } from "../../client/connect.ts";
import { testedProgram } from "../../files/tested-program.fixture.ts";
import { cluster, postgresPrograms } from "../../service/store/testing/cluster.fixture.ts";
import { openMember } from "./fleet.fixture.ts";

const pair = (name: string, place = "") =>
  `name: ${name}\n${place}nodes:\n  h1: {template: linux}\n  h2: {template: linux}\nlinks: [[h1:eth0, h2:eth0]]\n`;
const is = { skip: postgresPrograms === undefined, timeout: 180_000 };

test("a machine that runs no labs gets none, passes calls on to those that do, and says what to do for the rest", is, async () => {
  const address = await (await cluster()).database();
  // The first machine of a fleet may be one without labs.
  await using api = await openMember({ name: "api", place: 1, address, runsLabs: false });
  const [admin, ann] = [await api.login("admin"), await api.login("ann")];
  const asked = async (token: string, path: string, body?: object) => {
    const client = api.client(token);
    return (await (body === undefined ? client.get(`/api/v1${path}`) : client.post(`/api/v1${path}`, body))).json;
  };

  const none = await asked(ann, "/templates");
  expect(none).toMatchObject({ ok: false, code: "host_unreachable", error: expect.stringContaining("labwright machines token") });
  const refused = await asked(ann, "/projects/deploy", { yaml: pair("early") });
  expect(refused).toMatchObject({ ok: false, code: "host_error", error: expect.stringContaining("api runs no labs (--host none)") });

  const reserve = {
    from: new Date(Date.now() + 3_600_000).toISOString(),
    until: new Date(Date.now() + 7_200_000).toISOString(),
    memory_mib: 100,
  };
  expect(await asked(ann, "/reservations", reserve)).toMatchObject({ ok: false, code: "room_reserved" });

  const { token } = await api.fleet.calls.createToken(60_000);
  await using lab = await openMember({ name: "lab", place: 2, address, token });
  await lab.hasFree(1_000);
  await api.hasFree(1_000);
  await expect.poll(async () => (await lab.client(ann).get("/api/v1/session")).status).toBe(200);

  // The catalogue is that of a machine with labs.
  for (const path of ["/templates", "/network-types", "/icons", "/capabilities"])
    expect(await asked(ann, path), path).toEqual((await lab.client(ann).get(`/api/v1${path}`)).json);
  expect(await asked(ann, "/projects/validate", { yaml: pair("first") })).toMatchObject({ ok: true });
  expect(await asked(ann, "/projects/plan", { yaml: pair("first") })).toMatchObject({ ok: true, data: { placement: { machine: "lab" } } });
  expect(await asked(ann, "/projects/deploy", { yaml: pair("first") })).toMatchObject({
    ok: true,
    data: { placement: { machine: "lab" } },
  });
  expect(await asked(ann, "/projects/status", { lab: "/first" })).toMatchObject({ ok: true, data: { machine: "lab", exists: true } });
  // Programs compare these names: ports of the lab are not on the machine that answers.
  expect(await asked(ann, "/session")).toMatchObject({ ok: true, data: { username: "ann", machine: "api" } });
  expect(await asked(ann, "/projects/inspect", { lab: "/first" })).toMatchObject({ ok: true, data: { machine: "lab" } });
  expect(await asked(ann, "/projects/status", { lab: "/none" })).toMatchObject({ ok: false, code: "lab_not_found" });
  expect(await asked(ann, "/labs")).toMatchObject({ ok: true, data: { labs: [{ lab: "/first", machine: "lab", exists: true }] } });
  expect(await asked(ann, "/jobs")).toMatchObject({ ok: true, data: { jobs: [{ lab: "/first" }] } });
  const attached = await asked(ann, "/console/attach", { lab: "/first", node: "h1" });
  const console = await api
    .client(ann)
    .secure(
      `GET /api/v1/console/stream/${attached.data.stream} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann}\r\nConnection: Upgrade\r\nUpgrade: host-telnet\r\n\r\n`,
    );
  console.socket.write("echo over-there\r");
  await expect.poll(console.heard).toContain("over-there");
  console.socket.destroy();

  // Captures and traffic are those of the machine with the lab, whose host has none.
  for (const [path, body] of [
    ["/projects/captures?lab=/first"],
    ["/projects/capture", { lab: "/first", node: "h1", interface: "eth0" }],
    ["/projects/traffic/attach", { lab: "/first" }],
  ] as const) {
    const answer = await asked(ann, path, body);
    expect(answer, path).toMatchObject({ ok: false, code: "unsupported" });
    expect(answer.error).not.toContain("runs no labs");
  }

  const there = await asked(ann, "/projects/deploy", { yaml: pair("there", "place: {machine: api}\n") });
  expect(there).toMatchObject({ ok: false, code: "invalid_intent", error: expect.stringContaining("the machine api runs no labs") });
  const load = await asked(ann, "/host/load");
  expect(load).toMatchObject({ ok: false, code: "unsupported", data: { feature: "hostLoad" } });
  expect(load.error).toContain("This machine of the fleet runs no labs (--host none): ask one that does: lab");
  expect(await asked(ann, "/disks")).toMatchObject({
    ok: false,
    code: "unsupported",
    error: expect.stringContaining("ask one that does: lab"),
  });
  expect(await asked(admin, "/machines/drain", { name: "api" })).toMatchObject({
    ok: false,
    code: "operation_not_allowed",
    error: "api runs no labs (--host none): there are none to move away",
  });
  const { machines } = (await lab.client(admin).get("/api/v1/machines")).json.data;
  expect(machines).toMatchObject([{ name: "api", runs_labs: false, available_memory_mib: 0, labs: 0 }, { name: "lab" }]);
  expect(machines[1]).not.toHaveProperty("runs_labs");
  expect(await asked(ann, "/reservations", reserve)).toMatchObject({ ok: true, data: { machine: "lab" } });
  expect(await asked(ann, "/projects/destroy", { lab: "/first" })).toMatchObject({ ok: true });
});

/** Starts `labwright serve --host none` as a user without any privilege. */
function serveNone(state: string, args: readonly string[]) {
  const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--bounding-set=-all"];
  const [program = "", ...argv] = [
    ...(process.getuid?.() === 0 ? nobody : []),
    ...[process.execPath, testedProgram("server/main"), "--host", "none", "--port", "0", "--state-dir", state, ...args],
  ];
  const child = spawn(program, argv, {
    env: { PATH: process.env.PATH, HOME: "/nonexistent", LABWRIGHT_ADMIN_PASSWORD: "admin-password" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (text += bytes));
  return { child, text: () => text, ended: once(child, "close") };
}

/** Runs `labwright`; returns its messages. Rejects if it fails. */
async function cli(home: string, env: Readonly<Record<string, string>>, ...words: readonly string[]): Promise<string> {
  const child = await promisify(execFile)(process.execPath, [testedProgram("cli/main"), ...words], {
    env: { PATH: process.env.PATH, HOME: home, ...env },
  });
  return child.stderr;
}

test("a machine without labs needs no root and no set-up; one that has labs does not become such a machine", is, async () => {
  await using cleanup = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "labwright-none-"));
  cleanup.defer(() => rmSync(directory, { recursive: true }));
  const { tls, database } = await cluster();
  const { pathname } = new URL((await database()).url.replace("postgres:", "http:").replace(/@[^/]*/, "@x"));
  const passwordFile = join(directory, "password");
  writeFileSync(passwordFile, "secret\n", { mode: 0o600 });
  const state = join(directory, "state");
  mkdirSync(join(state, "labs"), { recursive: true });
  const own = () => {
    if (process.getuid?.() === 0) for (const path of [directory, passwordFile, state, join(state, "labs")]) chownSync(path, 65_534, 65_534);
  };
  own();
  const address = `https://127.${(process.pid >> 8) & 127}.${process.pid & 255}.7:8444`;
  const fleet = ["--store", `postgres://remote@${tls.address}${pathname}?sslmode=require`, "--store-password-file", passwordFile];
  const start = (...more: readonly string[]) => {
    const started = serveNone(state, [...fleet, "--advertise", address, "--machine-name", "api", ...more]);
    cleanup.defer(async () => {
      started.child.kill("SIGKILL");
      await started.ended;
    });
    return started;
  };
  const service = start();
  const announced = /listens on (https:\S+) \(none host\), certificate sha256:([0-9A-F:]{95})/;
  await expect.poll(service.text, { timeout: 60_000 }).toMatch(announced);
  const [, url = "", pin = ""] = announced.exec(service.text()) ?? [];
  using admin = connect({ url, pin, credentials: { username: "admin", password: "admin-password" } });
  await admin.setHostUser({ user: "ann", add: true, password: "ann-password", role: "user" });
  expect((await admin.listHostUsers()).users).toMatchObject([{ user: "admin" }, { user: "ann", role: "user" }]);
  expect((await admin.listMachines()).machines).toMatchObject([{ name: "api", runs_labs: false, answers: true }]);
  const { token } = await admin.login({ username: "admin", password: "admin-password" });
  const cordoned = await cli(directory, { LABWRIGHT_URL: url, LABWRIGHT_PIN: pin, LABWRIGHT_TOKEN: token! }, "machines", "cordon", "api");
  expect(cordoned).toContain("api runs no labs (--host none): cordon has no effect there, because it gets no labs in any case");
  using ann = connect({ url, pin, credentials: { username: "ann", password: "ann-password" } });
  expect((await ann.listLabs()).labs).toEqual([]);
  await expect(ann.listTemplates()).rejects.toMatchObject({ code: "host_unreachable" });
  service.child.kill("SIGTERM");
  expect(await service.ended).toEqual([0, null]);

  const lab = "11111111-2222-4333-8444-555555555555";
  // As a machine leaves a lab behind that was a lab machine before.
  mkdirSync(join(state, "labs", lab));
  writeFileSync(join(state, "labs", lab, "lab.json"), JSON.stringify({ path: "/kept", id: lab }));
  own();
  const refused = start();
  expect(await refused.ended).toEqual([1, null]);
  expect(refused.text()).toContain("--host none runs no labs, and this machine has a lab: start the service without it");
});
