import { type ChildProcess, spawn } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { connect as connectTls } from "node:tls";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RawClient } from "../../test/wire/raw-client.ts";
import { connect } from "../client/connect.ts";
import { testedProgram } from "../files/tested-program.fixture.ts";
import { selfSigned } from "./tls/self-signed.ts";

interface Started {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  readonly ended: Promise<unknown>;
}

let dir: string;
const children: Started[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "labwright-serve-"));
});
afterEach(async () => {
  for (const { child, ended } of children.splice(0)) {
    child.kill("SIGKILL");
    await ended;
  }
  await rm(dir, { recursive: true, force: true });
});

/** Starts `labwright serve`. @param within a command that runs it */
function serve(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}, within: readonly string[] = []): Started {
  const [program = "", ...argv] = [...within, process.execPath, testedProgram("server/main"), "--host", "memory", "--port", "0", ...args];
  const child = spawn(program, argv, {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, LABWRIGHT_STATE_DIR: join(dir, "state"), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    err += chunk;
  });
  const started = { child, out: () => out, err: () => err, ended: once(child, "close") };
  children.push(started);
  return started;
}

/** A command that runs another command with the state directory on a read-only file system. */
const onReadOnly = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none "$LABWRIGHT_STATE_DIR" && exec "$0" "$@"'];
const patient = { timeout: 40_000 };
const announcement =
  /^labwright \S+ listens on (https:\/\/127\.0\.0\.1:\d+) \(memory host\), certificate sha256:((?:[0-9A-F]{2}:){31}[0-9A-F]{2})$/m;

test("the service prints its address and fingerprint, answers, and ends cleanly at SIGTERM", async () => {
  const service = serve([], { LABWRIGHT_ADMIN_PASSWORD: "hunter2" });
  await expect.poll(service.out, patient).toMatch(announcement);
  const [, url = "", fingerprint] = announcement.exec(service.out()) ?? [];
  const file = join(dir, "state/service.json");
  expect(JSON.parse(await readFile(file, "utf8"))).toEqual({ host: "memory", url, fingerprint, pid: service.child.pid });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(dir, "state"))).mode & 0o777).toBe(0o700);

  using client = new RawClient(url);
  const login = await client.post("/api/v1/login", { username: "admin", password: "hunter2" });
  expect(login.json.data.username).toBe("admin");

  service.child.kill("SIGTERM");
  expect(await service.ended).toEqual([0, null]);
  await expect(stat(file)).rejects.toThrow(/ENOENT/);
  expect(service.err()).not.toContain("hunter2");
  expect(service.err()).not.toContain(login.json.data.token);
  for (const line of service.err().trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("level");
});

test("with --any-port a service whose port is in use listens on another one, and without it does not start", async () => {
  const first = serve();
  await expect.poll(first.out, patient).toMatch(announcement);
  const { port } = new URL(announcement.exec(first.out())?.[1] ?? "");
  const other = { LABWRIGHT_STATE_DIR: join(dir, "other") };
  const refused = serve(["--port", port], other);
  expect(await refused.ended).toEqual([1, null]);
  expect(refused.err()).toMatch(`port ${port} of 127.0.0.1 is in use`);
  const second = serve(["--port", port, "--any-port"], other);
  await expect.poll(second.out, patient).toMatch(announcement);
  const url = announcement.exec(second.out())?.[1] ?? "";
  expect(new URL(url).port).not.toBe(port);
  using client = new RawClient(url);
  expect((await client.get("/api/v1/health")).status).toBe(200);
});

test("the service ends cleanly at SIGTERM with an open console, a running command and a running change", async () => {
  const service = serve([], { LABWRIGHT_ADMIN_PASSWORD: "hunter2" });
  await expect.poll(service.out, patient).toMatch(announcement);
  const [, url = "", pin] = announcement.exec(service.out()) ?? [];
  using client = connect({ url, pin, credentials: { username: "admin", password: "hunter2" } });
  await client.deployProject({ yaml: "name: x\nnodes: {h1: {template: linux}, h2: {template: linux}}\n" });
  const console = await client.openConsole({ lab: "/x", node: "h1" });
  const closed = new Promise((resolve) => console.on("error", () => {}).once("close", resolve));
  console.resume();
  const codeOf = async (answer: Promise<unknown>) => ((await answer.catch((error: unknown) => error)) as { readonly code?: string }).code;
  const dialogue = codeOf(client.runConsole({ lab: "/x", node: "h2", steps: [{ expect: "no such output" }] }));
  await expect.poll(() => codeOf(client.execConsole({ lab: "/x", node: "h2", command: "a", timeout_ms: 50 }))).toBe("console_in_use");
  const { job } = await client.startJob("reconcileProject", { yaml: "name: x\nnodes: {h1: {template: linux}}\n", prune: true });
  expect(job).toEqual(expect.any(String));
  service.child.kill("SIGTERM");
  expect(await service.ended).toEqual([0, null]);
  await closed;
  expect(await dialogue).toEqual(expect.any(String));
});

test("SIGHUP reads the certificate again, and keeps the old one if the new one is broken", async () => {
  const paths = { certificate: join(dir, "own.crt"), key: join(dir, "own.key") };
  const renew = async (until: Date) => {
    const made = selfSigned({ names: ["127.0.0.1"], from: new Date(Date.now() - 1e10), until });
    await writeFile(paths.certificate, made.certificate);
    await writeFile(paths.key, made.key);
    return new X509Certificate(made.certificate).fingerprint256;
  };
  const first = await renew(new Date(Date.now() - 1e9));
  const service = serve(["--cert", paths.certificate, "--key", paths.key]);
  await expect.poll(service.out, patient).toMatch(announcement);
  expect(service.err()).toMatch(/own\.crt expired on/);
  const port = Number(new URL(announcement.exec(service.out())?.[1] ?? "").port);
  const shown = async () => {
    const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const { fingerprint256 } = socket.getPeerX509Certificate()!;
    socket.destroy();
    return fingerprint256;
  };
  expect(await shown()).toBe(first);
  const second = await renew(new Date(Date.now() + 1e10));
  service.child.kill("SIGHUP");
  await expect.poll(shown).toBe(second);
  const kept = async () =>
    (JSON.parse(await readFile(join(dir, "state/service.json"), "utf8")) as { readonly fingerprint: string }).fingerprint;
  await expect.poll(kept).toBe(second);
  await writeFile(paths.key, "torn");
  service.child.kill("SIGHUP");
  await expect.poll(service.err).toMatch(/the certificate was not changed: the key \S+own\.key is not a usable PEM file/);
  expect(await shown()).toBe(second);
  expect(service.child.exitCode).toBeNull();
});

test("a terminal that is closed ends the service", async () => {
  // script gives it a terminal, which goes with it.
  const service = serve([], {}, ["sh", "-c", 'exec script --quiet /dev/null --command "$*"', "sh"]);
  await expect.poll(service.out, patient).toMatch(/listens on/);
  const { pid } = JSON.parse(await readFile(join(dir, "state/service.json"), "utf8")) as { readonly pid: number };
  service.child.kill("SIGKILL");
  await expect.poll(() => existsSync(`/proc/${pid}`), patient).toBe(false);
});

test("a token and the certificate survive a restart", async () => {
  const env = { LABWRIGHT_ADMIN_PASSWORD: "hunter2" };
  const first = serve([], env);
  await expect.poll(first.out, patient).toMatch(announcement);
  using before = new RawClient(announcement.exec(first.out())?.[1] ?? "");
  const { token } = (await before.post("/api/v1/login", { username: "admin", password: "hunter2" })).json.data;
  first.child.kill("SIGINT");
  await first.ended;
  const second = serve([], env);
  await expect.poll(second.out, patient).toMatch(announcement);
  expect(announcement.exec(second.out())?.[2]).toBe(announcement.exec(first.out())?.[2]);
  using after = new RawClient(announcement.exec(second.out())?.[1] ?? "", token);
  expect((await after.get("/api/v1/session")).json.data.username).toBe("admin");
});

test("a second service on the same state directory is refused", async () => {
  const first = serve();
  await expect.poll(first.out, patient).toMatch(announcement);
  expect(first.out()).toMatch(/^first start: sign in as admin with the password \S{20}$/m);
  const second = serve();
  expect(await second.ended).toEqual([1, null]);
  expect(second.err()).toMatch(
    new RegExp(
      `^labwright serve: another service runs on the state directory .* \\(https:.*, process ${first.child.pid}\\): stop that service first`,
    ),
  );
  expect(second.err().trim().split("\n")).toHaveLength(1);
  // A third service shares only the directory with the first, as in a container.
  const third = serve([], {}, process.getuid?.() === 0 ? ["unshare", "--net"] : []);
  expect(await third.ended).toEqual([1, null]);
  expect(third.err()).toMatch(/^labwright serve: another service runs on the state directory/);
  // Killed, it leaves no lock.
  first.child.kill("SIGKILL");
  await first.ended;
  const fourth = serve();
  await expect.poll(fourth.out, patient).toMatch(announcement);
});

test("a wrong flag and a port in use end the service with one line", async () => {
  const wrong = serve(["--prot", "1"]);
  expect(await wrong.ended).toEqual([1, null]);
  expect(wrong.err()).toMatch(/^labwright serve: Unknown option '--prot'.*; labwright serve --help shows the flags\n$/);
  const first = serve();
  await expect.poll(first.out, patient).toMatch(announcement);
  const port = new URL(announcement.exec(first.out())?.[1] ?? "").port;
  const second = serve(["--port", port, "--state-dir", join(dir, "other")]);
  expect(await second.ended).toEqual([1, null]);
  expect(second.err()).toBe(
    `labwright serve: port ${port} of 127.0.0.1 is in use: end the program that listens there, or choose another port with --port (0 is any free port)\n`,
  );
  const nowhere = serve(["--listen", "192.0.2.1", "--state-dir", join(dir, "other")]);
  expect(await nowhere.ended).toEqual([1, null]);
  expect(nowhere.err()).toMatch(
    /^labwright serve: this machine has no address "192\.0\.2\.1": --listen takes an address of this machine.*\n$/,
  );
  const both = serve(["--listen", "127.0.0.1:9443", "--state-dir", join(dir, "other")]);
  expect(await both.ended).toEqual([1, null]);
  expect(both.err()).toContain(
    'no address "127.0.0.1:9443": --listen takes an address alone, --port the port: --listen 127.0.0.1 --port 9443\n',
  );
});

test.each<readonly [name: string, within: readonly string[] | undefined, why: string]>([
  ["/proc/labwright", undefined, "the system cannot create /proc/labwright (ENOENT): create it by hand"],
  // Root without the capability that lets it write everywhere.
  [
    "theirs/state",
    process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-dac_override"] : [],
    "may not write DIR (EACCES): give that user",
  ],
  ...(process.getuid?.() === 0 ? [["theirs", onReadOnly, "DIR/service.lock is on a read-only file system (EROFS)"] as const] : []),
])("a state directory that cannot be used is reported in one line, with the reason and the remedy: %s", async (name, within, why) => {
  await mkdir(join(dir, "theirs"), { mode: 0o555 });
  const directory = resolve(dir, name);
  const service = serve([], { LABWRIGHT_STATE_DIR: directory }, within);
  expect(await service.ended).toEqual([1, null]);
  expect(service.err()).toContain(`labwright serve: the state directory ${directory} cannot be used: `);
  expect(service.err()).toContain(why.replace("DIR", directory));
  expect(service.err()).toMatch(/, or give the service another with --state-dir or LABWRIGHT_STATE_DIR\n$/);
  expect(service.err().trim().split("\n")).toHaveLength(1);
});

test("on a machine that is not set up the embedded host names the command to run", async () => {
  const env = { LABWRIGHT_HOLDER: join(dir, "none"), LABWRIGHT_IMAGE_DIR: join(dir, "no-images") };
  const service = serve(["--host", "embedded"], env);
  expect(await service.ended).toEqual([1, null]);
  expect(service.err()).toMatch(/^labwright serve: this machine is not set up .*Run labwright setup first/);
  expect(service.err().trim().split("\n")).toHaveLength(1);
  expect(await readFile(join(dir, "state/users.json"), "utf8").catch(() => "none")).toBe("none");
});

test("a machine with parts of other machines' labs does not start with --host none, and names the labs", async () => {
  const id = "1b4e28ba-2fa1-41d2-883f-0016d3cca427";
  const state = join(dir, "state");
  const directory = join(state, "labs", id);
  const parts = join(state, "spread", "parts");
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await mkdir(parts, { recursive: true });
  await writeFile(join(directory, "lab.json"), JSON.stringify({ version: 1, id, path: "/~parts/7" }));
  await writeFile(join(parts, "7.json"), JSON.stringify({ version: 1, id: "7", path: "/ring", home: 2, owner: "admin" }));
  const fleet = ["--host", "none", "--store", "postgres://127.0.0.1:1/none", "--advertise", "https://192.0.2.1:8443"];
  const service = serve(fleet);
  expect(await service.ended).toEqual([1, null]);
  expect(service.err()).toContain("this machine has nodes of labs that are spread over machines (/ring): start the service without it");
});
