import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OperationId, operations } from "../../src/contract/operations.ts";
import { type TestLocalHost, testLocalHost } from "../../src/hosts/local/testing/test-local-host.fixture.ts";
import type { RawClient } from "./raw-client.ts";
import { type Served, serve } from "./served.ts";

const good = `name: refused
nodes:
  h1: {template: linux}
  sw: {template: switch}
links:
  - ["h1:eth0", "sw:eth0"]
`;

/** Intents that a host cannot make, with the code, the field and the place in the intent. */
const wrong: readonly (readonly [string, string, { code: string; path: string; line: number; column: number }])[] = [
  ["template: linux", "template: linx", { code: "unknown_template", path: "/nodes/h1/template", line: 3, column: 18 }],
  ["template: linux", "kind: nosuch", { code: "unknown_template", path: "/nodes/h1/kind", line: 3, column: 14 }],
  ["template: linux", "template: linux, image: nosuch", { code: "unknown_image", path: "/nodes/h1/image", line: 3, column: 32 }],
  [
    "template: linux",
    "template: linux, attributes: {forwarding: maybe}",
    { code: "bad_value", path: "/nodes/h1/attributes/forwarding", line: 3, column: 50 },
  ],
  [
    "template: linux",
    "template: linux, attributes: {forwardin: true}",
    { code: "unknown_attribute", path: "/nodes/h1/attributes/forwardin", line: 3, column: 49 },
  ],
  ["h1:eth0", "h1:Gi0/1", { code: "unknown_interface", path: "/links/0", line: 6, column: 5 }],
  ["links:", "networks: {n: {type: cloud}}\nlinks:", { code: "unknown_network_type", path: "/networks/n/type", line: 5, column: 22 }],
];

describe.skipIf(process.getuid?.() !== 0)("on the embedded host", () => {
  let local: TestLocalHost;
  let served: Served;
  let client: RawClient;

  beforeAll(async () => {
    local = await testLocalHost();
    served = await serve({ host: local.host });
    client = await served.signIn("admin", "test");
    expect((await send("deployProject", { yaml: good })).status).toBe(200);
  });
  afterAll(async () => {
    await local?.[Symbol.asyncDispose]();
    await served?.[Symbol.asyncDispose]();
  });

  const send = (id: OperationId, body: object) => client.post(operations[id].path, body);
  const nodes = async () => (await send("getProjectStatus", { lab: "/refused" })).json.data.live.nodes;

  test.each(wrong)(
    "%s as %s is refused by validate as by deploy, at its place, and blocks a change of what exists",
    async (from, to, place) => {
      const yaml = good.replace(from, to);
      const validated = await send("validateProject", { yaml });
      expect([validated.status, validated.json.code]).toEqual([422, "invalid_intent"]);
      expect(validated.json.data.diagnostics).toMatchObject([{ severity: "error", ...place }]);
      const deployed = await send("deployProject", { yaml, lab: "/fresh" });
      expect(deployed.json.data.diagnostics).toEqual(validated.json.data.diagnostics);

      await expect.poll(async () => (await nodes()).every(({ status }: { status: string }) => status === "running")).toBe(true);
      const before = (await send("inspectProject", { lab: "/refused", refresh: true })).json.data;
      const plan = (await send("planProject", { yaml })).json.data;
      expect(plan).toMatchObject({ applicable: false, blocked: [{ reason: { code: place.code } }] });
      const body = { yaml, confirm: true, plan_identity: plan.plan_identity };
      expect((await send("reconcileProject", body)).json.data).toMatchObject({ applicable: false, applied: 0, status: "unchanged" });
      const after = (await send("inspectProject", { lab: "/refused", refresh: true })).json.data;
      expect({ ...after, taken_at: "" }).toEqual({ ...before, taken_at: "" });
    },
  );

  test("validate reports every problem at once, with suggestions, and a problem that several nodes inherit only once", async () => {
    const yaml = `name: many
defaults: {template: linx}
nodes:
  a:
  b:
  c: {template: linux, image: bse}
  sw: {template: switch, env: {A: b}, startup-config: "x\\ny"}
traffic_filters: [{name: f, match: icmp and}]
`;
    const { json } = await send("validateProject", { yaml });
    const found = json.data.diagnostics.map(({ severity, code, path }: Record<string, string>) => [severity, code, path]);
    expect(found).toEqual([
      ["error", "unknown_template", "/defaults/template"],
      ["error", "unknown_image", "/nodes/c/image"],
      ["warning", "unsupported_field", "/nodes/sw/env"],
      ["warning", "unsupported_field", "/nodes/sw/startup-config"],
      ["error", "invalid_filter", "/traffic_filters/0/match"],
    ]);
    const [template, image] = json.data.diagnostics;
    expect(template.message).toBe("node a: the host has no template linx; did you mean linux? (the same for 1 more)");
    expect(image.message).toContain("did you mean base?");
    expect(image.message).toContain("leave image out to take base");
    const deployed = (await send("deployProject", { yaml })).json.data.diagnostics;
    expect(deployed).toEqual(json.data.diagnostics.filter(({ severity }: { severity: string }) => severity === "error"));
  });

  test("validate warns of what deploy would leave out, and of more CPUs than there are", async () => {
    const yaml = good
      .replace("template: switch", "template: switch, env: {A: b}")
      .replace("template: linux", "template: qemu, image: tiny, cpu: 1000");
    const { json } = await send("validateProject", { yaml });
    const warnings = (json.data.warnings ?? json.data.diagnostics).filter(({ severity }: { severity: string }) => severity === "warning");
    expect(warnings).toMatchObject([
      { code: "more_than_host", path: "/nodes/h1/cpu", line: 3, column: 42 },
      {
        code: "unsupported_field",
        path: "/nodes/sw/env",
        line: 4,
        message: expect.stringMatching(/^sw\.env is not supported and would be left out: /),
      },
    ]);
  });
});
