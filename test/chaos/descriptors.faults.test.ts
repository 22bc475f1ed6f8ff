import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RawClient } from "../wire/raw-client.ts";
import { EmbeddedService, password } from "./embedded-service.ts";
import { eventually } from "./eventually.ts";

/** A service whose process has no file descriptors left: a real limit, set by the kernel. */

const run = promisify(execFile);
let service: EmbeddedService;
let client: RawClient | undefined;
beforeEach(async () => {
  service = await EmbeddedService.make();
});
afterEach(async () => {
  client?.[Symbol.dispose]();
  client = undefined;
  await service[Symbol.asyncDispose]();
});

const yaml = `name: files
nodes:
  h1: {template: linux, exec: ["ip addr add 10.0.0.1/24 dev eth0"]}
  h2: {template: linux, exec: ["ip addr add 10.0.0.2/24 dev eth0"]}
links:
  - ["h1:eth0", "h2:eth0"]
`;
const lab = "/files";
const grown = `${yaml.replace("links:", "  h3: {template: linux}\nlinks:")}`;

/** Actions of a user, each alone, with the codes that a service without descriptors may answer. */
const calls: readonly (readonly [path: string, body: object])[] = [
  ["/api/v1/login", { username: "admin", password }],
  ["/api/v1/projects/validate", { yaml: grown }],
  ["/api/v1/projects/plan", { yaml: grown }],
  ["/api/v1/projects/status", { lab }],
  ["/api/v1/projects/inspect", { lab, refresh: true }],
  ["/api/v1/projects/reconcile", { yaml: grown }],
  ["/api/v1/projects/deploy", { yaml: yaml.replace("name: files", "name: more") }],
  ["/api/v1/projects/deploy", { yaml, replace: true }],
  ["/api/v1/projects/exec", { lab, action: "stop", node: "h2" }],
  ["/api/v1/projects/exec", { lab, action: "start", node: "h2" }],
  ["/api/v1/projects/links/quality", { lab, endpoints: ["h1:eth0", "h2:eth0"], a: { delay: 1 } }],
  ["/api/v1/projects/links/suspend", { lab, endpoints: ["h1:eth0", "h2:eth0"], suspended: true }],
  ["/api/v1/projects/capture", { lab, node: "h1", interface: "eth0", filter: "icmp" }],
  ["/api/v1/console/exec", { lab, node: "h1", command: "echo here" }],
  ["/api/v1/console/log", { lab, node: "h1" }],
  ["/api/v1/projects/destroy", { lab: "/more" }],
];

/** Lets the process open so many further files at once and no more. Returns the function that takes it back. */
async function exhaust(pid: number, spare: number): Promise<() => Promise<unknown>> {
  const limit = async (soft: string) => run("prlimit", ["--pid", String(pid), `--nofile=${soft}:`]);
  const { stdout } = await run("prlimit", ["--pid", String(pid), "--nofile", "--noheadings", "--raw", "--output=SOFT"]);
  const used = new Set((await readdir(`/proc/${pid}/fd`)).map(Number));
  let bound = 0;
  for (let free = 0; free < spare || used.has(bound); bound++) if (!used.has(bound)) free++;
  await limit(String(bound));
  return async () => limit(stdout.trim());
}

const hangs = { timeout: 400_000 };

test("a service without file descriptors says so, in answers and jobs, and works again when it has some", hangs, async () => {
  await service.start();
  const { token } = await service.client.login({ username: "admin", password });
  client = new RawClient(service.client.url);
  client.token = token ?? null;
  const post = async (path: string, body: object) => client!.post(path, body);
  const deploy = async () => post("/api/v1/projects/deploy", { yaml, replace: true });
  expect((await deploy()).status).toBe(200);

  const refused: string[] = [];
  for (const spare of [0, 1, 2, 3, 5, 8, 13, 21]) {
    const restore = await exhaust(service.pid, spare);
    try {
      for (const [path, body] of calls) {
        const { status, json } = await post(path, body).catch((error: Error) => {
          throw new Error(`${spare} ${path}: ${error.message}\n${service.log.slice(-3_000)}`, { cause: error });
        });
        if (status !== 200) refused.push(`${spare} ${path}: ${json.code} ${json.error}`);
      }
    } finally {
      await restore();
    }
    await eventually(
      `the lab can be replaced after a limit of ${spare}`,
      async () => (await deploy()).status === 200,
      () => service.log,
    );
    await post("/api/v1/projects/destroy", { lab: "/more" });
  }
  // A deploy that broke off leaves less of a lab; a holder that starts has the limit, too.
  const expected =
    /: (overloaded .*file descriptors.*|lab_not_found .*|node_not_running .*|host_error start node .* sandbox did not start: .*)$/;
  expect(refused.filter((one) => !expected.test(one))).toEqual([]);
  expect(refused.filter((one) => one.includes("overloaded")).length).toBeGreaterThan(calls.length);
  const { jobs } = (await client.get("/api/v1/jobs")).json.data as { jobs: { error?: { code: string } }[] };
  const codes = new Set(jobs.flatMap(({ error }) => error?.code ?? []));
  expect(codes).toContain("overloaded");
  expect(codes).not.toContain("internal");

  // New connections, and everything else, as before.
  using fresh = new RawClient(service.client.url);
  const login = await fresh.post("/api/v1/login", { username: "admin", password });
  fresh.token = login.json.data.token;
  for (const [path, body] of calls) expect([path, (await fresh.post(path, body)).status]).toEqual([path, 200]);
  expect(service.log).not.toContain('"code":"internal"');
});
