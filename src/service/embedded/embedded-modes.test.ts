import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { interfaceNaming } from "../../base/names/interface-names.ts";
import { Failure } from "../../contract/errors.ts";
import type { ProjectModeCaps } from "../../contract/schemas/session.ts";
import type { HostRules } from "../../engine/model/plan.ts";
import type { HostTemplate } from "../../hosts/host.ts";
import { type TestLocalHost, testLocalHost } from "../../hosts/local/testing/test-local-host.fixture.ts";
import { createService } from "../create-service.ts";
import type { Handlers, Service } from "../service.ts";
import { sqliteStore } from "../store/sqlite.ts";

/** The embedded host does what capabilities and catalogue promise. */

const yaml = (name: string, more = "") => `name: ${name}
nodes:
  a: {template: pc}
  b: {template: pc}
${more}links:
  - ["a:eth0", "b:eth0"]
`;

let local: TestLocalHost;
let service: Service;
let token: string;
const call = { requestId: "test", signal: new AbortController().signal, address: "127.0.0.1", respondAsync: false };

function ask<Id extends keyof Handlers>(id: Id, body: object, params: object = {}): ReturnType<Handlers[Id]> {
  const handle = service.handlers[id] as unknown as (request: unknown, caller: unknown, with_: unknown) => ReturnType<Handlers[Id]>;
  return handle({ body, query: {}, params }, service.authenticate(token), call);
}

beforeAll(async () => {
  local = await testLocalHost();
  service = createService({ host: local.host, store: sqliteStore(":memory:"), log: () => {}, version: "test" });
  token = (await service.handlers.login({ body: { username: "admin", password: "test" }, query: undefined, params: undefined }, null, call))
    .token!;
});
afterAll(async () => {
  await service.close();
  await local[Symbol.asyncDispose]();
});

describe("the service allows exactly the operations that the capabilities list for a project mode", () => {
  type Cell = Exclude<keyof ProjectModeCaps, "stopModes">;
  type Attempt = (selector: { readonly lab: string; readonly manifest: string }, name: string) => Promise<unknown>;
  const endpoints = ["a:eth0", "b:eth0"];
  /** In this order; the last one takes the lab away. */
  const cells: Readonly<Record<Cell, Attempt>> = {
    validate: (selector, name) => ask("validateProject", { ...selector, yaml: yaml(name) }),
    plan: (selector, name) => ask("planProject", { ...selector, yaml: yaml(name) }),
    status: (selector) => ask("getProjectStatus", selector),
    inspect: (selector) => ask("inspectProject", selector),
    open: (selector) => ask("openProject", selector),
    consoles: (selector) => ask("listProjectConsoles", selector),
    reconcileFromHost: (selector) => ask("reconcileProject", { ...selector, direction: "from_host" }),
    start: (selector) => ask("execProject", { ...selector, action: "start" }),
    quality: (selector) => ask("applyLinkQuality", { ...selector, endpoints, a: { delay: 1 } }),
    suspend: (selector) => ask("setLinkSuspend", { ...selector, endpoints, suspended: true, side: "a" }),
    capture: async (selector) => {
      const { capture } = await ask("startCapture", { ...selector, node: "a", interface: "eth0" });
      await ask("removeCapture", {}, { id: capture });
      return capture;
    },
    traffic: (selector) => ask("attachTraffic", selector),
    stop: (selector) => ask("execProject", { ...selector, action: "stop", stopmode: 1 }),
    wipe: (selector) => ask("execProject", { ...selector, action: "wipe" }),
    edit: (selector) => ask("editProject", { ...selector, section: "description", value: "x" }),
    reconcileToHost: (selector, name) => ask("reconcileProject", { ...selector, yaml: yaml(name, "  c: {template: pc}\n") }),
    deploy: (selector, name) => ask("deployProject", { ...selector, yaml: yaml(name), replace: true }),
    destroy: (selector) => ask("destroyProject", selector),
  };

  test.each(["create", "import", "load"] as const)("%s", async (mode) => {
    const name = `modes-${mode}`;
    const source = `/${name}`;
    await ask("deployProject", { yaml: yaml(name) });
    const lab = mode === "import" ? `${source}-import` : source;
    if (mode === "import") await ask("importProject", { lab: source });
    const manifest = `version: 1\nmode: ${mode}\nlab: ${lab}\n`;
    const { projectModes, features } = await ask("getCapabilities", {});
    const caps = projectModes![mode]!;
    const before = await ask("inspectProject", { lab, refresh: true });
    for (const [cell, attempt] of Object.entries(cells) as [Cell, Attempt][]) {
      const outcome = await attempt({ lab, manifest }, lab.slice(1)).then(
        () => "done",
        (error: unknown) => (error instanceof Failure ? error.code : String(error)),
      );
      const why =
        cell === "open" || ((cell === "capture" || cell === "traffic") && !features![cell]) ? "unsupported" : "operation_not_allowed";
      expect([cell, outcome]).toEqual([cell, caps[cell] ? "done" : why]);
    }
    if (mode === "load") {
      const { nodes, links } = await ask("inspectProject", { lab, refresh: true });
      const power = (of: typeof nodes) => of.map(({ status }) => (status === "starting" ? "running" : status));
      expect([power(nodes), links]).toEqual([power(before.nodes), before.links]);
    }
    if (mode !== "create") await ask("destroyProject", { lab: source });
  });
});

describe("authoring on the embedded host's templates", () => {
  let templates: readonly HostTemplate[];
  let rules: HostRules;
  beforeAll(async () => {
    const session = await local.host.login("admin", "test");
    [templates, rules] = [await session.templates(), await session.rules()];
    await session.close();
  });

  test("every template shows the interfaces that its nodes will have, bare and in an intent, and completes with free ones", async () => {
    expect(templates.length).toBeGreaterThanOrEqual(4);
    for (const { id, ethFormat } of templates) {
      const naming = interfaceNaming(ethFormat);
      const { maxInterfaces } = rules.templates.find((one) => one.id === id)!;
      const names = (count: number) => Array.from({ length: Math.min(count, maxInterfaces) }, (_, index) => naming.name(index));
      const bare = await ask("previewInterfaces", { template: id, attributes: { ethernet: 3 } });
      expect([id, bare.items?.map(({ name }) => name)]).toEqual([id, names(3)]);
      const odd = await ask("previewInterfaces", { template: id, attributes: { ethernet: 2 }, eth_format: "port{1}" });
      expect(odd.items?.map(({ name }) => name)).toEqual(["port1", "port2"].slice(0, maxInterfaces));
      const [first = ""] = names(1);
      const intent = `name: x\nnodes:\n  n: {template: ${id}}\n  p: {template: pc}\nlinks:\n  - ["n:${first}", "p:eth0"]\n`;
      const shown = await ask("previewInterfaces", { yaml: intent, node: "n" });
      expect(shown.items).toMatchObject([{ node: "n", name: first, used: true, peer: "p:eth0" }]);
      const free = await ask("completeLinkInterfaces", { yaml: intent, node: "n", excludeUsed: true });
      expect(free.items?.some(({ name }) => name === first)).toBe(false);
      const all = await ask("completeLinkInterfaces", { yaml: intent, node: "n" });
      expect(all.items?.at(-1)).toMatchObject({ name: first, used: true });
    }
  });

  test("the host has the previewed interfaces after a deploy", async () => {
    const intent = yaml("previewed", "  s: {template: switch, ethernet: 3}\n  l: {template: linux, ethernet: 2}\n");
    const { items } = await ask("previewInterfaces", { yaml: intent });
    await ask("deployProject", { yaml: intent });
    const { nodes } = await ask("inspectProject", { lab: "/previewed" });
    const had = nodes.flatMap(({ node, interfaces }) => interfaces.map(({ name }) => `${node}:${name}`));
    expect(had.sort()).toEqual(items?.map(({ node, name }) => `${node}:${name}`).sort());
    await ask("destroyProject", { lab: "/previewed" });
  });
});
