import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ReconcileData } from "../../contract/schemas/plan.ts";
import type { ImportData } from "../../contract/schemas/project.ts";
import type { DefinedEndpoint, DefinedLink, LabDefinition } from "../../hosts/local/definitions/definition.ts";
import { type TestLocalHost, testLocalHost } from "../../hosts/local/testing/test-local-host.fixture.ts";
import { projectState } from "../context/state.ts";
import { createService } from "../create-service.ts";
import { until } from "../service.fixture.ts";
import type { Handlers, Service } from "../service.ts";
import { sqliteStore } from "../store/sqlite.ts";

const yaml = `# mine
name: real
nodes:
  h1: {template: linux} # a host
  r1: {template: frr, startup-config: r1.conf}
links:
  - ["r1:eth0", "h1:eth0"]
`;
const files = { "r1.conf": "hostname r1\n" };

let local: TestLocalHost;
let service: Service;
let token: string;
const call = { requestId: "test", signal: new AbortController().signal, address: "127.0.0.1", respondAsync: false };

function post<Id extends keyof Handlers>(id: Id, body: object): ReturnType<Handlers[Id]> {
  const handle = service.handlers[id] as unknown as (request: unknown, caller: unknown, with_: unknown) => ReturnType<Handlers[Id]>;
  return handle({ body, query: {}, params: {} }, service.authenticate(token), call);
}

const running = async (lab: string) =>
  (await post("getProjectStatus", { lab })).live?.nodes?.every(({ status }) => status === "running") === true;

/** Edits lab.json as a person with an editor would. */
async function byHand(edit: (definition: LabDefinition) => LabDefinition): Promise<void> {
  for (const id of await readdir(join(local.paths.state, "labs"))) {
    const file = join(local.paths.state, "labs", id, "lab.json");
    const definition = JSON.parse(await readFile(file, "utf8"));
    if (definition.path !== "/real") continue;
    await writeFile(file, JSON.stringify(edit(definition)));
  }
}

const summaries = (actions: readonly { op: string; kind: string; key: string; origin?: string }[] | undefined) =>
  (actions ?? []).map(({ op, kind, key, origin }) => `${op} ${kind} ${key}: ${origin}`).sort();

beforeAll(async () => {
  local = await testLocalHost();
  service = createService({ host: local.host, store: sqliteStore(":memory:"), log: () => {}, version: "test" });
  token = (await service.handlers.login({ body: { username: "admin", password: "test" }, query: undefined, params: undefined }, null, call))
    .token!;
  await post("deployProject", { yaml, files });
  await until(() => running("/real"));
});
afterAll(async () => {
  await service.close();
  await local[Symbol.asyncDispose]();
});

test("the state names nodes and networks by their own names, though a host may number both from 1", async () => {
  const state = projectState(local.host, 1, (await local.session.observe("/real"))!, { nodes: { h1: "1" }, networks: {}, links: {} });
  expect(state.nodes).toEqual({ h1: { id: "1", name: "h1" } });
  const observed = { ...(await local.session.observe("/real"))!, networks: [{ id: "1", name: "lan", type: "bridge" }] };
  expect(projectState(local.host, 1, observed, { nodes: { h1: "1" }, networks: { lan: "1" }, links: {} })).toMatchObject({
    nodes: { h1: { id: "1", name: "h1" } },
    networks: { lan: { id: "1", name: "lan" } },
  });
});

test("a configuration that a router saved is seen, comes back into the intent, and then the plan is empty", async () => {
  expect((await post("planProject", { lab: "/real" })).actions).toEqual([]);
  for (const command of ["configure terminal", "interface eth0\nip address 10.1.1.1/24\nend", "write memory"]) {
    await post("execConsole", { lab: "/real", node: "r1", command });
  }
  const plan = await post("planProject", { yaml, files });
  expect(summaries(plan.actions)).toEqual(["update config r1: host"]);
  expect(plan.actions?.[0]).toMatchObject({ disruption: "none", reason: { code: "changed_on_host" } });
  const back = (await post("reconcileProject", { yaml, files, direction: "from_host" })) as ReconcileData;
  expect(back.yaml).toBe(yaml);
  expect(back.files!["r1.conf"]).toContain("ip address 10.1.1.1/24");
  expect((await post("planProject", { yaml: back.yaml!, files: back.files! })).actions).toEqual([]);
});

test("an intent with another value restores it, and the plan is empty again", async () => {
  const plan = await post("planProject", { yaml, files });
  expect(summaries(plan.actions)).toEqual(["update config r1: intent"]);
  const done = await post("reconcileProject", { yaml, files, confirm: true, plan_identity: plan.plan_identity! });
  expect(done).toMatchObject({ status: "applied" });
  await until(() => running("/real"));
  expect((await post("planProject", { yaml, files })).actions).toEqual([]);
  const shown = await post("execConsole", { lab: "/real", node: "r1", command: "show running-config" });
  expect(shown.output).not.toContain("10.1.1.1");
});

test("changes in the host's own file are distinguished from changes in the intent", async () => {
  const before = await post("planProject", { yaml: yaml.replace("template: linux", "template: linux, labels: {a: b}"), files });
  await byHand((definition) => {
    const [h1, ...others] = definition.nodes;
    const moved = definition.links.map((link): DefinedLink => {
      const at = (end: DefinedEndpoint) => ("node" in end && end.node === h1!.id ? { ...end, interface: "eth3" } : end);
      return { ...link, endpoints: [at(link.endpoints[0]), at(link.endpoints[1])] };
    });
    const stranger = { ...h1!, id: 90, name: "h2", power: "stopped" as const };
    return { ...definition, nodes: [{ ...h1!, ethernet: 4 }, ...others, stranger], links: moved, next: { ...definition.next, node: 91 } };
  });
  const wanted = yaml.replace("template: linux", "template: linux, labels: {a: b}");
  const plan = await post("planProject", { yaml: wanted, files, prune: true });
  expect(summaries(plan.actions)).toEqual(
    [
      "create link h1:eth0 -- r1:eth0: host",
      "delete link h1:eth3 -- r1:eth0: host",
      "delete node h2: host",
      "update node h1: intent",
    ].sort(),
  );
  const stale = post("reconcileProject", { yaml: wanted, files, confirm: true, plan_identity: before.plan_identity! });
  await expect(stale).rejects.toMatchObject({ code: "plan_stale" });
  const back = (await post("reconcileProject", { yaml, files, direction: "from_host" })) as ReconcileData;
  expect(back.yaml).toContain("# mine");
  expect(back.yaml).toContain("# a host");
  expect(back.yaml).toMatch(/r1:eth0", ?"h1:eth3"/);
  expect(back.yaml).toContain("h2:");
  expect((await post("planProject", { yaml: back.yaml!, files: back.files! })).actions).toEqual([]);
});

test("a traffic filter that does not compile is refused", async () => {
  const edit = (match: string) => post("editProject", { lab: "/real", section: "traffic_filters", value: [{ name: "f", match }] });
  const edited = await edit("ip proto 89 and not host 10.0.0.1");
  expect(edited.yaml).toContain("ip proto 89");
  for (const [match, message] of [
    ["bogus ((", /syntax error/],
    ["host nowhere.invalid", /unknown host/],
    ["-r /etc/passwd", /syntax error|illegal/],
  ] as const) {
    await expect(edit(match), match).rejects.toMatchObject({ code: "invalid_intent", message: expect.stringMatching(message) });
  }
});

test("an import of a running lab leaves it running and untouched", async () => {
  const before = await local.session.observe("/real");
  const copy = (await post("importProject", { lab: "/real" })) as ImportData;
  expect(copy).toMatchObject({ managed_lab: "/real-import", mode: "import" });
  expect(await local.session.observe("/real")).toEqual(before);
  expect((await post("planProject", { lab: "/real-import" })).actions).toEqual([]);
  const { live } = await post("getProjectStatus", { lab: "/real-import" });
  expect(live?.nodes?.map(({ status }) => status)).toEqual(["stopped", "stopped", "stopped"]);
  await post("execProject", { lab: "/real-import", action: "start", node: "r1" });
  await until(
    async () => (await post("getProjectStatus", { lab: "/real-import" })).live?.nodes?.some(({ status }) => status === "running") === true,
  );
  await post("destroyProject", { lab: "/real-import" });
});
