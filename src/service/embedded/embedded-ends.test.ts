import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { builtinTemplates } from "../../hosts/local/templates/reading/templates.ts";
import { type TestLocalHost, testLocalHost } from "../../hosts/local/testing/test-local-host.fixture.ts";
import type { Call } from "../common/call.ts";
import { createService } from "../create-service.ts";
import { failureOf, until } from "../service.fixture.ts";
import type { Handlers, Service } from "../service.ts";
import { sqliteStore } from "../store/sqlite.ts";

/** Hanging parts of the embedded host: no caller waits forever. */

const yaml = `name: stuck
nodes:
  a: {template: linux}
  b: {template: linux}
links:
  - endpoints: ["a:eth0", "b:eth0"]
    quality: {a: {delay: 5}}
`;
const lab = "/stuck";
let local: TestLocalHost;
let service: Service;
let token: string;
/** Processes that a test has stopped, continued in any case. */
const stopped: number[] = [];

const call: Call = { requestId: "test", signal: new AbortController().signal, address: "127.0.0.1", respondAsync: false };

function post<Id extends keyof Handlers>(id: Id, body: object, more: Partial<Call> = {}): ReturnType<Handlers[Id]> {
  const handle = service.handlers[id] as unknown as (request: unknown, caller: unknown, with_: unknown) => ReturnType<Handlers[Id]>;
  return handle({ body, query: {}, params: body }, service.authenticate(token), { ...call, ...more });
}

beforeEach(async () => {
  local = await testLocalHost();
});
afterEach(async () => {
  for (const pid of stopped.splice(0)) process.kill(pid, "SIGCONT");
  await service.close();
  await local[Symbol.asyncDispose]();
});

/** @param changeStallMs on a busy machine an ordinary step takes seconds, so only the change that hangs has a short limit */
async function startService(changeStallMs: number): Promise<void> {
  const limits = { changeStallMs, changeGraceMs: 500, closeWaitMs: 100 };
  service = createService({ host: local.host, store: sqliteStore(":memory:"), log: () => {}, version: "test", ...limits });
  const request = { body: { username: "admin", password: "test" }, query: undefined, params: undefined };
  token = (await service.handlers.login(request, null, call)).token!;
}

function hang(pid: number): () => void {
  process.kill(pid, "SIGSTOP");
  stopped.push(pid);
  return () => process.kill(pid, "SIGCONT");
}

test("a change whose holder does not answer ends as host_timeout, its job too, and goes through when the holder is back", async () => {
  await startService(8_000);
  await post("deployProject", { yaml });
  const goOn = hang((await local.sandbox(lab)).pid);
  const failure = await failureOf(post("execProject", { lab, action: "stop", stopmode: 1 }));
  expect(failure.code).toBe("host_timeout");
  const started = (await post("reconcileProject", { yaml: yaml.replace("delay: 5", "delay: 6") }, { respondAsync: true })) as {
    job: string;
  };
  await until(async () => (await post("getJob", { id: started.job })).status !== "running");
  expect(await post("getJob", { id: started.job })).toMatchObject({ status: "failed", error: { code: "host_timeout" } });
  goOn();
  await until(async () => {
    const tally = await post("execProject", { lab, action: "stop", stopmode: 1 }).catch(() => undefined);
    return tally !== undefined && "failed" in tally && tally.failed === 0;
  });
  await post("reconcileProject", { yaml });
  expect((await post("planProject", { yaml, prune: true })).actions).toEqual([]);
});

test("a node that cannot start is named in the failure, and the other nodes start", async () => {
  await startService(120_000);
  const templates = join(local.paths.state, "templates");
  await mkdir(templates);
  const base = await readFile(join(builtinTemplates, "linux.yaml"), "utf8");
  await writeFile(join(templates, "mine.yaml"), base.replace("id: linux", "id: mine"));
  const nodes = "  a: {template: linux, start: false}\n  b: {template: mine, start: false}\n  c: {template: linux, start: false}\n";
  await post("deployProject", { yaml: `name: some\nnodes:\n${nodes}links: []\n` });
  await rm(join(templates, "mine.yaml"));
  expect(await post("execProject", { lab: "/some", action: "start" })).toMatchObject({ requested: 3, started: 2, failed: 1 });
  const powers = async () => (await local.session.status("/some")).nodes.map(({ name, status }) => [name, status]);
  await until(
    async () =>
      JSON.stringify(await powers()) ===
      JSON.stringify([
        ["a", "running"],
        ["b", "stopped"],
        ["c", "running"],
      ]),
  );
});
