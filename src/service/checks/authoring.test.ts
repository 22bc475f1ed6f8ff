import { Check } from "typebox/value";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { InterfacesPreviewData, LinkCompletionsData } from "../../contract/schemas/authoring.ts";
import { type Bench, type Client, createBench, failureOf } from "../service.fixture.ts";

let bench: Bench;
let ann: Client;
let templates: readonly string[];
beforeAll(async () => {
  bench = createBench();
  ann = await bench.login();
  templates = ((await ann.get("listTemplates")).templates ?? []).map(({ id }) => id);
});
afterAll(async () => {
  await bench.service.close();
  await bench.host.close();
});

const names = (items: readonly { readonly name: string }[] | undefined) => (items ?? []).map(({ name }) => name);

test("every template shows its interfaces, bare and as a node, up to what it can have", async () => {
  expect(templates.length).toBeGreaterThan(3);
  for (const template of templates) {
    const bare = await ann.call("previewInterfaces", { template });
    expect(Check(InterfacesPreviewData, bare)).toBe(true);
    expect(names(bare.items).slice(0, 2), template).toEqual(["eth0", "eth1"]);
    expect(bare.items?.every(({ used, node, type }) => !used && node === "" && type === "ethernet")).toBe(true);
    const most = await ann.call("previewInterfaces", { template, attributes: { ethernet: 1_000_000_000 } });
    expect(most.items!.length, template).toBeLessThanOrEqual(64);
    const node = await ann.call("previewInterfaces", { yaml: `name: x\nnodes: {a: {template: ${template}, ethernet: 3}}\n` });
    expect(node.items?.map(({ node, index }) => [node, index])).toEqual([
      ["a", 0],
      ["a", 1],
      ["a", 2],
    ]);
    const completed = await ann.call("completeLinkInterfaces", { template });
    expect(Check(LinkCompletionsData, completed)).toBe(true);
    expect(names(completed.items)[0], template).toBe("eth0");
  }
});

describe("a format", () => {
  test.each([
    ["eth{0}", ["eth0", "eth1", "eth2"]],
    ["Gi{0}/{0-2}", ["Gi0/0", "Gi0/1", "Gi1/0"]],
    ["Mgmt1,Eth{1}", ["Mgmt1", "Eth1", "Eth2"]],
    ["ge-0/0/{0}", ["ge-0/0/0", "ge-0/0/1", "ge-0/0/2"]],
    ["", ["e0", "e1", "e2"]],
  ])("of %j names them so", async (eth_format, expected) => {
    const { items } = await ann.call("previewInterfaces", { template: "frr", attributes: { ethernet: "3" }, eth_format });
    expect(names(items)).toEqual(expected);
  });

  test("with a management interface offers that last", async () => {
    const { items } = await ann.call("completeLinkInterfaces", {
      template: "frr",
      attributes: { ethernet: 3 },
      eth_format: "Mgmt1,Eth{1}",
    });
    expect(names(items)).toEqual(["Eth1", "Eth2", "Mgmt1"]);
  });

  test("that is no format is refused", async () => {
    for (const eth_format of ["x".repeat(129), "eth\n{0}", "\u0000"]) {
      expect((await failureOf(ann.call("previewInterfaces", { template: "frr", eth_format }))).code).toBe("bad_request");
    }
  });
});

describe("a link's end", () => {
  const yaml = `name: x
nodes: {a: {template: frr}, b: {template: linux, ethernet: 2}, s: {template: switch}}
networks: {lan: {type: bridge}}
links:
  - ["a:eth0", "b:eth1"]
  - ["a:eth2", "lan"]
`;
  test("lists free interfaces first, in order, then used interfaces with their peers", async () => {
    const { node, items } = await ann.call("completeLinkInterfaces", { yaml, node: "a" });
    expect(node).toBe("a");
    expect(names(items)).toEqual(["eth1", "eth3", "eth4", "eth5", "eth6", "eth7", "eth0", "eth2"]);
    expect(items?.slice(-2)).toEqual([
      { node: "a", name: "eth0", index: 0, type: "ethernet", used: true, peer: "b:eth1" },
      { node: "a", name: "eth2", index: 2, type: "ethernet", used: true, peer: "lan" },
    ]);
  });

  test("leaves out used interfaces with excludeUsed, and interfaces beyond the node's declared number", async () => {
    expect(names((await ann.call("completeLinkInterfaces", { yaml, node: "b", excludeUsed: true })).items)).toEqual(["eth0"]);
    expect(names((await ann.call("completeLinkInterfaces", { yaml, node: "b", excludeUsed: false })).items)).toEqual(["eth0", "eth1"]);
    expect(names((await ann.call("previewInterfaces", { yaml, node: "a", excludeUsed: true })).items)).toEqual(["eth1"]);
  });

  test("lists the interfaces of all nodes if no node is named", async () => {
    for (const body of [{ yaml }, { yaml, node: "" }]) {
      const { node, items } = await ann.call("completeLinkInterfaces", { ...body, excludeUsed: true });
      expect(node).toBeUndefined();
      expect(new Set(items?.map(({ node }) => node))).toEqual(new Set(["a", "b", "s"]));
    }
  });

  test("of an unknown node or invalid input fails with the reason", async () => {
    const code = async (body: object) => (await failureOf(ann.call("completeLinkInterfaces", body))).code;
    expect(await code({})).toBe("bad_request");
    expect(await code({ template: "" })).toBe("bad_request");
    expect(await code({ template: "nope" })).toBe("template_not_found");
    expect(await code({ yaml: "name: x\nnodes: {a: {template: nope}}\n" })).toBe("template_not_found");
    expect(await code({ yaml, node: "zz" })).toBe("node_not_found");
    expect(await code({ yaml: "nodes: 5" })).toBe("invalid_intent");
    expect(await code({ template: "frr", attributes: { ethernet: "many" } })).toBe("bad_request");
    expect(await code({ template: "frr", attributes: { ethernet: -1 } })).toBe("bad_request");
    expect(await code({ template: "frr", dir: "/tmp" })).toBe("field_not_allowed");
  });
});

test("a session that requests too many tickets gets rate_limited", async () => {
  const made = createBench();
  const eager = await made.login();
  await eager.call("deployProject", { yaml: "name: t\nnodes: {a: {template: frr}}\n" });
  const attach = () => eager.call("attachConsole", { lab: "/t", node: "a" });
  for (let count = 0; count < 120; count += 1) await attach();
  const failure = await failureOf(attach());
  expect([failure.code, failure.retryAfter]).toEqual(["rate_limited", 60]);
  const other = await made.login();
  expect(await other.call("attachConsole", { lab: "/t", node: "a" })).toMatchObject({ node: "a" });
  made.time.now += 60_000;
  expect(await attach()).toMatchObject({ node: "a" });
  await made.service.close();
  await made.host.close();
});
