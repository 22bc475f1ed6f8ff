import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { begin, cli, ended, password, run, runProcess, until, useService, watch, write } from "./cli.fixture.ts";

useService();

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number };
      server.close(() => resolve(port));
    });
  });
}

test("up starts a service if none is running, deploys, waits, and uses the same service the next time", async () => {
  const own = join(cli.folder, "state");
  const env = { LABWRIGHT_STATE_DIR: own, LABWRIGHT_RUN_DIR: join(own, "run"), XDG_CONFIG_HOME: join(cli.folder, "config") };
  write("upped");
  const first = await runProcess(["up", "lab.yaml", "--host", "memory"], { env });
  const { pid } = JSON.parse(readFileSync(join(own, "service.json"), "utf8")) as { pid: number };
  try {
    expect([first.code, first.stderr]).toEqual([0, expect.stringContaining("started a service at https://")]);
    expect(first.stdout).toMatch(/h1 +running/);
    expect(first.stderr).toContain("labwright console");
    expect(statSync(join(own, "admin-password")).mode & 0o777).toBe(0o600);
    const second = await run(["up", "lab.yaml", "--format", "json"], { env });
    expect([second.code, second.stderr]).toEqual([0, expect.not.stringContaining("started a service")]);
    expect(JSON.parse(second.stdout)).toMatchObject({ lab: "/upped" });
    await run(["stop", "--node", "h1"], { env });
    const third = await run(["up", "lab.yaml"], { env });
    expect([third.code, third.stderr]).toEqual([0, expect.stringMatching(/stopped: h1.*\n.*labwright start -t lab.yaml --node h1/)]);
  } finally {
    process.kill(pid, "SIGTERM");
    await until(
      () => "the end of the service",
      () => !existsSync(`/proc/${pid}`),
    );
  }
  // The log contains the lines of all earlier services. Only the lines of the last one are shown.
  const wrong = await runProcess(["up", "lab.yaml", "--host", "nowhere"], { env });
  expect([wrong.code, wrong.stderr]).toEqual([
    1,
    expect.stringMatching(/the service did not start:\n.*--host takes [^\n]*"nowhere"\n {2}hint: /),
  ]);
  expect(wrong.stderr).not.toContain("listens on");
});

test("up starts the service at the requested port, and down stops only that service", async () => {
  const own = join(cli.folder, "state");
  const env = { LABWRIGHT_STATE_DIR: own, LABWRIGHT_RUN_DIR: join(own, "run"), XDG_CONFIG_HOME: join(cli.folder, "config") };
  const port = await freePort();
  const address = `https://127.0.0.1:${port}`;
  const at = () => (JSON.parse(readFileSync(join(own, "service.json"), "utf8")) as { url: string }).url;
  write("ported");
  for (const [args, more] of [
    [["--url", address], {}],
    [["--port", String(port)], {}],
    [[], { LABWRIGHT_PORT: String(port) }],
    [[], { LABWRIGHT_URL: address }],
  ] as const) {
    const up = await runProcess(["up", "lab.yaml", "--host", "memory", ...args], { env: { ...env, ...more } });
    expect([up.code, up.stderr]).toEqual([0, expect.stringContaining(`started a service at ${address} `)]);
    expect(at()).toBe(address);
    const other = await run(["up", "lab.yaml", "--port", "1"], { env });
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining(`this machine's service runs at ${address}, not at port 1`)]);
    expect(other.stderr).toContain("leave --port out");
    const elsewhere = await run(["up", "lab.yaml", "--url", "https://127.0.0.1:1"], { env });
    expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining("leave --url out")]);
    expect(await run(["down"], { env })).toMatchObject({ code: 0, stderr: expect.stringContaining(`stopped the service at ${address}`) });
  }
  const wrong = await runProcess(["up", "lab.yaml", "--host", "memory"], { env: { ...env, LABWRIGHT_PORT: "abc" } });
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('LABWRIGHT_PORT takes a number from 0 to 65535, not "abc"')]);
  expect((await run(["up", "lab.yaml", "--port", "1", "--url", address], { env })).stderr).toContain(
    "--port is for a service of this machine",
  );
  // If another service answers at the loopback address, up starts no second one.
  const stranger = await run(["up", "lab.yaml", "--url", cli.url], { env: { ...env, LABWRIGHT_PASSWORD: password } });
  expect([stranger.code, stranger.stderr]).toEqual([1, expect.stringContaining("(tls_untrusted)")]);
  // This service was started by labwright serve.
  const refused = await run(["down"]);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("was not started by labwright up and keeps running")]);
  expect((await run(["deploy"])).code).toBe(0);
  expect(await run(["down", "-t", "lab.yaml", "--yes"])).toMatchObject({ code: 0, stdout: "destroyed /ported\n" });
});

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "up that is ended by %s during the start of its service ends the service",
  async (signal) => {
    const own = join(cli.folder, "state");
    const services = () =>
      readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name))
        .filter((pid) => {
          try {
            const of = (file: string) => readFileSync(`/proc/${pid}/${file}`, "utf8");
            return of("cmdline").includes("server/main") && of("environ").includes(`LABWRIGHT_STATE_DIR=${own}\0`);
          } catch {
            return false; // it has ended meanwhile
          }
        });
    write("cut-off");
    const up = begin(["up", "lab.yaml", "--host", "memory", "--port", "0"], {
      LABWRIGHT_STATE_DIR: own,
      LABWRIGHT_RUN_DIR: join(own, "run"),
    });
    const seen = watch(up);
    await until(
      () => `a service; up said ${seen.stderr}`,
      () => services().length === 1,
    );
    up.kill(signal);
    await ended(up);
    expect([up.signalCode, seen.stderr]).toEqual([signal, expect.stringContaining("the service that was starting was ended")]);
    await until(
      () => "the end of the service",
      () => services().length === 0,
    );
  },
);

test("up waits for a service that another command is starting", async () => {
  const own = join(cli.folder, "state");
  const env = { LABWRIGHT_STATE_DIR: own, LABWRIGHT_RUN_DIR: join(own, "run"), XDG_CONFIG_HOME: join(cli.folder, "config") };
  write("awaited");
  mkdirSync(own, { mode: 0o700 });
  // The lock is taken, but no service answers yet.
  const lock = new DatabaseSync(join(own, "service.lock"));
  lock.exec("BEGIN EXCLUSIVE");
  const waiting = begin(["up", "lab.yaml", "--host", "memory"], env);
  const seen = watch(waiting);
  await until(
    () => `the refusal; it said: ${seen.stderr}`,
    () =>
      existsSync(join(own, "service.log")) &&
      readFileSync(join(own, "service.log"), "utf8").includes("another service runs on the state directory"),
  );
  lock.close();
  const password = readFileSync(join(own, "admin-password"), "utf8").trim();
  const other = begin(["serve", "--port", "0", "--host", "memory"], { ...env, LABWRIGHT_ADMIN_PASSWORD: password });
  try {
    expect([await ended(waiting), seen.stderr]).toEqual([0, expect.stringContaining("another command has just started the service")]);
  } finally {
    other.kill("SIGTERM");
    await ended(other);
  }
});

test.each([
  ["one service for one state directory", ["state", "state"]],
  ["a service for each of two state directories", ["one", "two"]],
])("two ups at once on a fresh machine start %s", async (_, states) => {
  const own = states.map((name) => join(cli.folder, name));
  const runs = own.map((state, at) => {
    mkdirSync(join(cli.folder, `lab-${at}`));
    writeFileSync(join(cli.folder, `lab-${at}/lab.yaml`), `name: lab-${at}\nnodes: {h1: {template: linux}}\n`);
    const env = { LABWRIGHT_STATE_DIR: state, LABWRIGHT_RUN_DIR: join(state, "run"), XDG_CONFIG_HOME: join(state, "config") };
    return runProcess(["up", `lab-${at}/lab.yaml`, "--host", "memory"], { env });
  });
  try {
    for (const ran of await Promise.all(runs)) expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining("The lab is up.")]);
  } finally {
    for (const state of new Set(own)) {
      const { pid } = JSON.parse(readFileSync(join(state, "service.json"), "utf8")) as { pid: number };
      process.kill(pid, "SIGTERM");
      await until(
        () => "the end of the service",
        () => !existsSync(`/proc/${pid}`),
      );
    }
  }
});
