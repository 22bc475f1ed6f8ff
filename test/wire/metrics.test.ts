import { afterAll, beforeAll, expect, test } from "vitest";
import { operations } from "../../src/contract/operations.ts";
import { memoryHost } from "../../src/hosts/memory/memory-host.ts";
import type { RawClient } from "./raw-client.ts";
import { openSocket, type Served, serve, users } from "./served.ts";

const yaml = "name: counted\nnodes:\n  r1: {template: frr}\n  r2: {template: frr, start: false}\n";

let served: Served;
let admin: RawClient;
let ann: RawClient;
let reads = 0;

beforeAll(async () => {
  const inner = memoryHost({ users });
  const host = {
    ...inner,
    login: async (user: string, password: string) => {
      const session = await inner.login(user, password);
      const counting =
        <A extends unknown[], R>(read: (...args: A) => R) =>
        (...args: A) => {
          reads++;
          return read(...args);
        };
      return { ...session, status: counting(session.status), observe: counting(session.observe), labs: counting(session.labs) };
    },
  };
  served = await serve({ host });
  [admin, ann] = await Promise.all([served.signIn("admin"), served.signIn("ann")]);
});
afterAll(() => served[Symbol.asyncDispose]());

interface Line {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The text format, strictly: HELP and TYPE before the samples of a metric, every line of a known form. */
function parse(text: string): readonly Line[] {
  const types = new Map<string, string>();
  let current = "";
  return text
    .trimEnd()
    .split("\n")
    .flatMap((line): Line[] => {
      const help = /^# HELP ([a-z_]+) \S.*\.$/.exec(line);
      if (help) return [];
      const type = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/.exec(line);
      if (type) {
        current = type[1]!;
        expect(types.has(current)).toBe(false);
        types.set(current, type[2]!);
        return [];
      }
      const [, name = "", labels = "", value = ""] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      expect([line, name.replace(/_(bucket|sum|count)$/, types.get(current) === "histogram" ? "" : "_$1")]).toEqual([line, current]);
      expect([line, Number.isFinite(Number(value))]).toEqual([line, true]);
      const pairs = [...labels.matchAll(/([a-z]+)="((?:[^"\\]|\\.)*)"(?:,|$)/g)].map(([, key, each]) => [key, each]);
      return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
    });
}

async function metrics(): Promise<readonly Line[]> {
  const answer = await admin.get("/metrics");
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
  return parse(answer.text);
}

async function sampleOf(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number | undefined> {
  const found = (await metrics()).filter(
    (line) => line.name === name && Object.entries(labels).every(([key, each]) => line.labels[key] === each),
  );
  expect(found.length).toBeLessThan(2);
  return found[0]?.value;
}

test("a stranger is unauthenticated, a user is not allowed, an admin and a viewer are", async () => {
  expect((await admin.get("/metrics", { bearer: null })).json.code).toBe("unauthenticated");
  const answer = await ann.get("/metrics");
  expect([answer.status, answer.json.code]).toEqual([403, "operation_not_allowed"]);
  expect((await (await served.signIn("eve")).get("/metrics")).status).toBe(200);
});

test("requests are counted by operation and status, and their durations in buckets that add up", async () => {
  const before = (await sampleOf("labwright_http_requests_total", { operation: "getSession", status: "200" })) ?? 0;
  for (let index = 0; index < 3; index++) await admin.get("/api/v1/session");
  await admin.get("/api/v1/session", { bearer: "wrong" });
  await admin.get("/no/such/path");
  await expect.poll(() => sampleOf("labwright_http_requests_total", { operation: "getSession", status: "200" })).toBe(before + 3);
  expect(await sampleOf("labwright_http_requests_total", { operation: "getSession", status: "401" })).toBe(1);
  expect(await sampleOf("labwright_http_requests_total", { operation: "none", status: "404" })).toBe(1);
  const buckets = (await metrics()).filter(
    ({ name, labels }) => name === "labwright_http_request_duration_seconds_bucket" && labels.operation === "getSession",
  );
  expect(buckets.map(({ value }) => value)).toEqual(buckets.map(({ value }) => value).sort((a, b) => a - b));
  expect(buckets.at(-1)).toMatchObject({ labels: { le: "+Inf" }, value: before + 4 });
  expect(await sampleOf("labwright_http_request_duration_seconds_count", { operation: "getSession" })).toBe(before + 4);
  expect(await sampleOf("labwright_http_request_duration_seconds_sum", { operation: "getSession" })).toBeGreaterThan(0);
});

test("sessions, labs, nodes, changes and streams are counted", async () => {
  const sessions = (await sampleOf("labwright_sessions")) ?? 0;
  const other = await served.signIn("bob");
  expect(await sampleOf("labwright_sessions")).toBe(sessions + 1);
  await other.post("/api/v1/logout", {});
  expect(await sampleOf("labwright_sessions")).toBe(sessions);

  await ann.post("/api/v1/projects/deploy", { yaml });
  await ann.post("/api/v1/projects/deploy", { yaml });
  expect(await sampleOf("labwright_labs", { mode: "create" })).toBe(1);
  expect(await sampleOf("labwright_jobs_total", { operation: "deployProject", outcome: "finished" })).toBe(1);
  expect(await sampleOf("labwright_jobs_total", { operation: "deployProject", outcome: "failed" })).toBe(1);
  expect(await sampleOf("labwright_job_duration_seconds_count", { operation: "deployProject" })).toBe(2);
  expect(await sampleOf("labwright_jobs_running")).toBe(0);

  await ann.post("/api/v1/projects/status", { lab: "/counted" });
  const read = reads;
  expect([await sampleOf("labwright_nodes", { status: "running" }), await sampleOf("labwright_nodes", { status: "stopped" })]).toEqual([
    1, 1,
  ]);
  expect(reads).toBe(read);

  const ticket = (await ann.post("/api/v1/console/attach", { lab: "/counted", node: "r1" })).json.data.stream;
  const { socket, heard } = openSocket(served.url, `/api/v1/console/stream/${ticket}`, { Authorization: `Bearer ${ann.token}` });
  await expect.poll(heard).toContain("r1# ");
  expect(await sampleOf("labwright_streams", { kind: "console" })).toBe(1);
  expect(await sampleOf("labwright_http_requests_total", { operation: "streamConsole", status: "101" })).toBe(1);
  socket.close();
  await expect.poll(() => sampleOf("labwright_streams", { kind: "console" })).toBe(0);

  const events = await ann.secure(`GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann.token}\r\n\r\n`);
  await expect.poll(events.heard).toContain("heartbeat");
  expect(await sampleOf("labwright_streams", { kind: "events" })).toBe(1);
  events.socket.destroy();
  await expect.poll(() => sampleOf("labwright_streams", { kind: "events" })).toBe(0);

  await ann.post("/api/v1/projects/destroy", { lab: "/counted" });
  expect([await sampleOf("labwright_labs", { mode: "create" }), await sampleOf("labwright_nodes", { status: "running" })]).toEqual([
    undefined,
    undefined,
  ]);
});

test("the process has metrics under the names that dashboards know", async () => {
  expect(await sampleOf("labwright_build_info", { version: "1.2.3", host: "memory" })).toBe(1);
  expect(await sampleOf("process_resident_memory_bytes")).toBeGreaterThan(10 << 20);
  expect(await sampleOf("process_open_fds")).toBeGreaterThan(3);
  expect(await sampleOf("process_start_time_seconds")).toBeLessThanOrEqual(Date.now() / 1000);
  const cpu = (await sampleOf("process_cpu_seconds_total")) ?? 0;
  const late = async () => {
    const all = (await sampleOf("nodejs_eventloop_delay_seconds_count")) ?? 0;
    return all - ((await sampleOf("nodejs_eventloop_delay_seconds_bucket", { le: "0.05" })) ?? 0);
  };
  const before = await late();
  const until = performance.now() + 150;
  while (performance.now() < until);
  await expect.poll(late).toBeGreaterThan(before);
  expect(await sampleOf("process_cpu_seconds_total")).toBeGreaterThan(cpu);
});

test("no user, lab, node or path stands in a label, and what strangers ask for makes no new lines", async () => {
  const lines = (await metrics()).length;
  for (let index = 0; index < 50; index++) {
    await admin.get(`/made/up/${index}`);
    await admin.call("DELETE", `/api/v1/templates/t${index}`);
    await admin.get(`/api/v1/templates/t${index}`);
    // Each waits longer than the one before.
    if (index < 8) await admin.post("/api/v1/login", { username: `stranger${index}`, password: "x" }, { bearer: null });
  }
  await expect.poll(() => sampleOf("labwright_http_requests_total", { operation: "getTemplate", status: "404" })).toBe(50);
  const now = await metrics();
  expect(now.length - lines).toBeLessThan(60);
  const allowed: Readonly<Record<string, RegExp>> = {
    operation: new RegExp(`^(none|${Object.keys(operations).join("|")})$`),
    status: /^(\d{3}|aborted|running|stopped|starting|stopping|suspended|failed)$/,
    le: /^([\d.]+|\+Inf)$/,
    mode: /^(create|import|load)$/,
    outcome: /^(finished|failed|cancelled|finished_after_restart|rolled_back|interrupted)$/,
    kind: /^(console|events)$/,
    version: /^1\.2\.3$/,
    node: /^v\d+\.\d+\.\d+$/,
    host: /^memory$/,
  };
  for (const { labels } of now)
    for (const [name, value] of Object.entries(labels)) expect(value).toMatch(allowed[name] ?? /^no such label$/);
});
