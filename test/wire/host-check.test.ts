import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Failure } from "../../src/contract/errors.ts";
import { type OperationId, operations } from "../../src/contract/operations.ts";
import { type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import type { Answer, RawClient } from "./raw-client.ts";
import { type Served, serve } from "./served.ts";

const good =
  'name: wire\nnodes: {h1: {template: linux, start: false}, h2: {template: linux, start: false}}\nlinks: [["h1:eth0", "h2:eth0"]]\n';
const bad = `name: wire
topology:
  traffic_filters:
    - {name: zebra, match: "tcp prot 179"}
    - {name: arp, match: arp}
    - name: another
      match: icmp and
  nodes: {h1: {template: linux, start: false}, h2: {template: linux, start: false}}
  links: [["h1:eth0", "h2:eth0"]]
`;

const badAttributes = `name: machines
defaults: {template: qemu, attributes: {cpu-model: no model}}
nodes:
  v1: {attributes: {arguments: -hda /etc/passwd}}
  v2: {attributes: {cpu-model: Nehalem, arguments: -usb -device usb-storage}}
  v3: {attributes: {arguments: -usb}}
`;

describe.skipIf(process.getuid?.() !== 0)("on the embedded host", () => {
  let local: TestLocalHost;
  let served: Served;
  let client: RawClient;
  let away = false;

  beforeAll(async () => {
    local = await testLocalHost();
    const { host } = local;
    served = await serve({
      host: {
        ...host,
        login: async (user, password) => {
          const session = await host.login(user, password);
          const { checkPcapFilter, checkAttribute, rules } = session;
          const unlessAway =
            <A extends readonly unknown[], T>(check: (...args: A) => Promise<T>) =>
            async (...args: A) => {
              if (away) throw new Failure("host_unreachable", "away");
              return check(...args);
            };
          return {
            ...session,
            rules: unlessAway(rules),
            checkPcapFilter: unlessAway(checkPcapFilter!),
            checkAttribute: unlessAway(checkAttribute!),
          };
        },
      },
    });
    client = await served.signIn("admin", "test");
    expect((await send("deployProject", { yaml: good })).status).toBe(200);
  });
  afterAll(async () => {
    await local?.[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
  });

  function send(id: OperationId, body: object): Promise<Answer> {
    return client.post(operations[id].path, body);
  }

  test.each<[OperationId, object]>([
    ["validateProject", {}],
    ["planProject", {}],
    ["deployProject", { replace: true }],
    ["deployProject", { lab: "/fresh" }],
    ["reconcileProject", {}],
    ["reconcileProject", { lab: "/fresh", confirm: false }],
  ])("%s %j refuses filters that pcap does not compile, each at its place", async (id, more) => {
    const before = (await send("inspectProject", { lab: "/wire", refresh: true })).json.data.links;
    const { status, json } = await send(id, { yaml: bad, ...more });
    expect([status, json.code]).toEqual([422, "invalid_intent"]);
    expect(json.data.diagnostics).toEqual([
      {
        severity: "error",
        code: "invalid_filter",
        message: expect.stringContaining('"zebra": '),
        path: "/topology/traffic_filters/0/match",
        line: 4,
        column: 28,
        end_line: 4,
        end_column: 42,
      },
      expect.objectContaining({ path: "/topology/traffic_filters/2/match", line: 7, column: 14, end_column: 22 }),
    ]);
    expect(json.error).toContain('  4 |     - {name: zebra, match: "tcp prot 179"}\n    |                            ^^^^^^^^^^^^^^\n');
    expect((await send("inspectProject", { lab: "/wire", refresh: true })).json.data.links).toEqual(before);
    expect((await client.get("/api/v1/labs")).json.data.labs.map(({ lab }: { lab: string }) => lab)).toEqual(["/wire"]);
  });

  test("editProject refuses them alike, and leaves those alone that stood there before", async () => {
    const edit = (value: unknown, section = "traffic_filters", more = {}) => send("editProject", { lab: "/wire", section, value, ...more });
    const { status, json } = await edit([
      { name: "one", match: "icmp" },
      { name: "two", match: "icmp and" },
    ]);
    expect([status, json.code]).toEqual([422, "invalid_intent"]);
    const [{ line, column, ...seen }] = json.data.diagnostics;
    expect(seen).toMatchObject({ code: "invalid_filter", path: "/traffic_filters/1/match" });
    expect(line).toBeGreaterThan(3);
    expect(json.error).toMatch(/\^{8}/);
    expect(column).toBeGreaterThan(1);
    expect((await send("editProject", { yaml: bad, section: "description", value: "x" })).status).toBe(200);
  });

  test("a filter of a missing node is reported at its place, with a suggestion", async () => {
    const yaml = `${good}traffic_filters:\n  - {name: f, match: icmp, nodes: [h1, hh2]}\n`;
    for (const id of ["validateProject", "planProject", "deployProject", "reconcileProject"] as const) {
      const { json } = await send(id, { yaml });
      const place = { line: 5, column: 40, end_line: 5, end_column: 43 };
      expect(json.data.diagnostics, id).toMatchObject([{ code: "unknown_node", path: "/traffic_filters/0/nodes/1", ...place }]);
      expect(json.data.diagnostics[0].hint, id).toContain("h2");
    }
    const { json } = await send("editProject", {
      lab: "/wire",
      section: "traffic_filters",
      value: [{ name: "f", match: "icmp", nodes: ["hh2"] }],
    });
    expect(json.data.diagnostics).toMatchObject([{ code: "unknown_node", path: "/traffic_filters/0/nodes/0", hint: expect.any(String) }]);
    expect(json.data.diagnostics[0].line).toBeGreaterThan(4);
  });

  test.each<[OperationId, object]>([
    ["validateProject", {}],
    ["planProject", {}],
    ["deployProject", { lab: "/fresh" }],
    ["reconcileProject", { lab: "/fresh", confirm: false }],
  ])("%s %j refuses attributes that a virtual machine does not take, each where it is given, with what it takes", async (id, more) => {
    const { status, json } = await send(id, { yaml: badAttributes, ...more });
    expect([status, json.code]).toEqual([422, "invalid_intent"]);
    // Machines differ in their images, of which there may be none for this template.
    const diagnostics = json.data.diagnostics.filter(({ code }: { code: string }) => code === "invalid_attribute");
    expect(diagnostics).toEqual([
      {
        severity: "error",
        code: "invalid_attribute",
        message: expect.stringMatching(/^the attribute cpu-model of v[13]: "no model" is not a CPU model$/),
        path: "/defaults/attributes/cpu-model",
        line: 2,
        column: 52,
        end_line: 2,
        end_column: 60,
        hint: expect.stringContaining("Nehalem"),
      },
      expect.objectContaining({
        message: 'the attribute arguments of v1: "-hda" is not among those that a node may bring',
        path: "/nodes/v1/attributes/arguments",
        line: 4,
        column: 32,
        hint: expect.stringContaining("-smbios"),
      }),
      expect.objectContaining({ path: "/nodes/v2/attributes/arguments", line: 5, hint: expect.stringContaining("usb-tablet") }),
    ]);
    expect(json.error).toContain("hint: ");
    expect((await client.get("/api/v1/labs")).json.data.labs.map(({ lab }: { lab: string }) => lab)).toEqual(["/wire"]);
  });

  test("an attribute of another kind of template is nobody's grammar, but unknown", async () => {
    const yaml = "name: wire\nnodes: {h1: {template: linux, attributes: {arguments: -hda x}}}\n";
    const { json } = await send("validateProject", { yaml });
    expect(json.data.diagnostics).toMatchObject([{ code: "unknown_attribute", path: "/nodes/h1/attributes/arguments" }]);
  });

  test("validate goes on without the host, and warns of what was not checked", async () => {
    away = true;
    try {
      const { status, json } = await send("validateProject", { yaml: bad.replace("icmp and", "igmp or") });
      expect(status).toBe(200);
      expect(json.data.warnings).toMatchObject([
        { severity: "warning", code: "filter_unchecked", line: 4 },
        { severity: "warning", code: "filter_unchecked", line: 5 },
        { severity: "warning", code: "filter_unchecked", line: 7 },
        { severity: "warning", code: "host_unchecked", line: 8 },
      ]);
      const attributes = await send("validateProject", { yaml: badAttributes });
      expect(attributes.status).toBe(200);
      expect(attributes.json.data.warnings).toMatchObject([
        { severity: "warning", code: "host_unchecked", path: "/defaults/template" },
        { severity: "warning", code: "attribute_unchecked", path: "/nodes/v1/attributes/arguments" },
      ]);
    } finally {
      away = false;
    }
  });
});
