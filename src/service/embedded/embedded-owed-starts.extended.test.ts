import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Host, HostSession } from "../../hosts/host.ts";
import { type TestLocalHost, testLocalHost } from "../../hosts/local/testing/test-local-host.fixture.ts";
import type { Call } from "../common/call.ts";
import { createService } from "../create-service.ts";
import { failureOf, until } from "../service.fixture.ts";
import type { Handlers, Service } from "../service.ts";
import { sqliteStore } from "../store/sqlite.ts";

/** Changes of real nodes that break off between a stop and the start after it. */

const yaml = `name: owed
nodes:
  h1: {template: linux}
  h2: {template: linux}
links:
  - ["h1:eth0", "h2:eth0"]
`;
/** h1 must stop, so that its env can change. */
const changed = yaml.replace("h1: {template: linux}", "h1: {template: linux, env: {MARK: new}}");
const lab = "/owed";

let local: TestLocalHost;
let service: Service;
let token: string;
/** Called as the host begins a step. */
let onStep: (operation: string) => void = () => {};

const call: Call = { requestId: "test", signal: new AbortController().signal, address: "127.0.0.1", respondAsync: false };

function post<Id extends keyof Handlers>(id: Id, body: object, more: Partial<Call> = {}): ReturnType<Handlers[Id]> {
  const handle = service.handlers[id] as unknown as (request: unknown, caller: unknown, with_: unknown) => ReturnType<Handlers[Id]>;
  return handle({ body, query: {}, params: body }, service.authenticate(token), { ...call, ...more });
}

/** The embedded host, which calls `onStep`. */
function watched(host: Host): Host {
  const watching = (session: HostSession): HostSession => ({
    ...session,
    apply: (path, operations, progress) =>
      session.apply(path, operations, {
        ...progress,
        step: (operation, state) => {
          progress.step(operation, state);
          if (state === "running") onStep(operation);
        },
      }),
  });
  return { ...host, login: async (user, password) => watching(await host.login(user, password)) };
}

beforeEach(async () => {
  onStep = () => {};
  local = await testLocalHost();
  service = createService({ host: watched(local.host), store: sqliteStore(":memory:"), log: () => {}, version: "test" });
  const request = { body: { username: "admin", password: "test" }, query: undefined, params: undefined };
  token = (await service.handlers.login(request, null, call)).token!;
  await post("deployProject", { yaml });
  await until(async () => (await powers()) === "h1 running, h2 running");
});
afterEach(async () => {
  await service?.close();
  await local?.[Symbol.asyncDispose]();
});

/** As the machine's processes are. */
async function powers(): Promise<string> {
  const { nodes } = await local.session.status(lab);
  return nodes.map(({ name, status }) => `${name} ${status}`).join(", ");
}

async function markOf(node: string): Promise<string> {
  const { output } = await post("execConsole", { lab, node, command: "echo [$MARK]", timeout_ms: 60_000 });
  return output ?? "";
}

async function confirmed(text: string, more: Partial<Call> = {}) {
  const { plan_identity } = await post("planProject", { yaml: text });
  return post("reconcileProject", { yaml: text, confirm: true, ...(plan_identity !== undefined && { plan_identity }) }, more);
}

/** Sets or clears the lab's lock, as another program on the machine does: at once, so that it counts from the next step on. */
async function lockFile(): Promise<(locked: boolean) => void> {
  const file = join(local.paths.state, "labs", (await local.session.observe(lab))!.id, "lab.json");
  return (locked) => writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), locked }));
}

/** Applies `changed`, which breaks off once the step `at` has begun. Returns the code of the failure. */
const breaks: Readonly<Record<string, (at: string) => Promise<string>>> = {
  lab_locked_mid_apply: async (at) => {
    const setLock = await lockFile();
    onStep = (id) => {
      if (id === at) setLock(true);
    };
    const { code } = await failureOf(confirmed(changed));
    setLock(false);
    return code;
  },
  cancelled: async (at) => {
    let job = "";
    onStep = (id) => {
      if (id === at) void post("cancelJob", { id: job });
    };
    const started = (id: string) => {
      job = id;
    };
    return (await failureOf(confirmed(changed, { started }))).code;
  },
};

describe.each(Object.keys(breaks))("after %s", (code) => {
  test.each(["stop:node:h1", "update:node:h1"])("at the step %s a real node is started by the next plan", async (at) => {
    expect(await breaks[code]!(at)).toBe(code);
    onStep = () => {};
    expect(await powers()).toBe("h1 stopped, h2 running");
    const plan = await post("planProject", { yaml: changed });
    expect(plan.operations!.filter(({ op }) => op === "start").map(({ key }) => key)).toEqual(["h1"]);
    await confirmed(changed);
    await until(async () => (await powers()) === "h1 running, h2 running");
    expect(await markOf("h1")).toBe("[new]");
    expect((await post("planProject", { yaml: changed })).operations).toEqual([]);
  });

  test("a real node is started again by a reconcile of the text of before, without a confirmation", async () => {
    expect(await breaks[code]!("stop:node:h1")).toBe(code);
    onStep = () => {};
    expect(await powers()).toBe("h1 stopped, h2 running");
    const plan = await post("planProject", { yaml });
    expect(plan.actions).toMatchObject([{ op: "start", key: "h1", reason: { code: "start_owed" }, disruption: "none" }]);
    expect(await post("reconcileProject", { yaml })).toMatchObject({ status: "applied", operations: [] });
    await until(async () => (await powers()) === "h1 running, h2 running");
    expect(await markOf("h1")).toBe("[]");
  });

  test("a real node that its user stops meanwhile stays stopped", async () => {
    expect(await breaks[code]!("stop:node:h1")).toBe(code);
    onStep = () => {};
    await post("execProject", { lab, action: "stop", node: "h1" });
    expect((await post("planProject", { yaml })).operations).toEqual([]);
    await confirmed(changed);
    expect(await powers()).toBe("h1 stopped, h2 running");
  });
});
