import { describe, expect, test } from "vitest";
import { writeZip } from "../../../src/files/zip/zip.ts";
import { node, signIn } from "./client.fixture.ts";
import type { FakeEveOptions } from "./options.ts";
import { type FakeEve, startFakeEve } from "./server.ts";

/*
 * Which attributes of an imported file a real host with visible notices cannot do without: it was given one node for each attribute, with
 * that attribute left out.
 */
const place = { delay: "0", icon: "Router.png", config: "0", left: "1", top: "1" };
const nodes = {
  qemu: { id: "1", name: "n", type: "qemu", template: "vios", image: "vios-15.6", console: "telnet", cpu: "1", ethernet: "2", ...place },
  linux: {
    id: "1",
    name: "n",
    type: "qemu",
    template: "linux",
    image: "linux-tiny-1.0",
    ethernet: "1",
    firstmac: "00:50:00:00:01:00",
    ...place,
  },
  iol: { id: "1", name: "n", type: "iol", template: "iol", image: "i.bin", ethernet: "1", serial: "1", ram: "256", ...place },
  dynamips: { id: "1", name: "n", type: "dynamips", template: "c7200", image: "c.image", idlepc: "0x0", ram: "256", ...place },
  vpcs: { id: "1", name: "n", type: "vpcs", template: "vpcs", image: "", ethernet: "1", ...place },
} as const;
type Kind = keyof typeof nodes;

const needed: Readonly<Record<string, string>> = {
  id: "Undefined index: id",
  template: "Undefined index: template",
  config: "Undefined index: config",
  firstmac: "A non-numeric value encountered",
};
const id = "aa316708-7d9c-44ad-a049-d593ea46d293";
const withNode = (attributes: object, inside = "", labId = id) =>
  `<lab name="one" id="${labId}"><topology><nodes><node${text(attributes)}>${inside}</node></nodes></topology></lab>`;
const text = (attributes: object) =>
  Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${value}"`)
    .join("");
const cases = Object.entries(nodes).flatMap(([kind, attributes]) => Object.keys(attributes).map((name) => [kind as Kind, name] as const));

async function withFile(
  file: string,
  options: FakeEveOptions,
  work: (admin: Awaited<ReturnType<typeof signIn>>, eve: FakeEve) => Promise<void>,
) {
  await using eve = await startFakeEve({ latency: "none", lockTimeoutMs: 50, ...options });
  const admin = await signIn(eve);
  expect((await admin.import("/", writeZip([{ name: "one.unl", data: Buffer.from(file) }]))).code).toBe(80080);
  await work(admin, eve);
  expect(eve.defects).toEqual([]);
}

test.each(cases)("a node of %s without %s", async (kind, name) => {
  const { [name as "id"]: _left, ...attributes } = nodes[kind];
  const refusal = name === "type" ? `invalid node template ${nodes[kind].template}` : needed[name];
  await withFile(withNode(attributes), { notices: "visible" }, async (admin, eve) => {
    for (const path of ["", "/nodes", "/nodes/1", "/nodes/1/interfaces", "/networks", "/topology"]) {
      const { status, json } = await admin.call("GET", `/labs/one.unl${path}`);
      expect([path, status, refusal && json.message]).toEqual([path, refusal === undefined ? 200 : 400, refusal]);
    }
    const put = await admin.call("PUT", "/labs/one.unl/nodes/1", { left: "77" });
    expect(put.status).toBe(refusal === undefined ? 201 : 500);
    if (refusal !== undefined) expect(put.text).toContain(`Undefined index: ${refusal}`);
    expect(eve.locks()).toEqual(refusal === undefined ? [] : ["/one.unl"]);
    expect((await admin.call("DELETE", "/labs/one.unl")).status).toBe(200);
    expect(eve.labFile("/one.unl")).toBeUndefined();
  });
});

describe("parts of a lab", () => {
  const parts: readonly (readonly [string, string, string])[] = [
    ["an interface without id", withNode(nodes.vpcs, '<interface name="eth0" type="ethernet" network_id="1"/>'), "Undefined index: id"],
    ["an interface without type", withNode(nodes.vpcs, '<interface id="0" name="eth0" network_id="1"/>'), "Undefined index: type"],
    ["a slot without id", withNode(nodes.dynamips, '<slot module="PA-4E"/>'), "Undefined index: id"],
    ["a slot without module", withNode(nodes.dynamips, '<slot id="1"/>'), "Undefined index: module"],
    [
      "a network without id",
      `<lab id="${id}"><topology><networks><network type="bridge"/></networks></topology></lab>`,
      "Undefined index: id",
    ],
    [
      "a text without id",
      `<lab id="${id}"><objects><textobjects><textobject name="t" type="text"><data>PA==</data></textobject></textobjects></objects></lab>`,
      "Undefined index: id",
    ],
    [
      "docker, which Community 5 does not know",
      withNode({ ...nodes.vpcs, type: "docker", template: "docker" }),
      "invalid node template docker",
    ],
    [
      "a missing MAC address and a lab id that begins with a digit",
      withNode({ ...nodes.vpcs, type: "qemu", template: "bigip" }, "", "7e316708-7d9c-44ad-a049-d593ea46d293"),
      "A non well formed numeric value encountered",
    ],
  ];
  test.each(parts)("%s", (_name, file, message) =>
    withFile(file, { notices: "visible" }, async (admin) => {
      expect(await admin.call("GET", "/labs/one.unl")).toMatchObject({ status: 400, json: { message } });
    }),
  );

  test("a serial interface without its far interface breaks the list of interfaces alone", () =>
    withFile(withNode(nodes.iol, '<interface id="1" type="serial" remote_id="2"/>'), { notices: "visible" }, async (admin) => {
      expect((await admin.call("GET", "/labs/one.unl/nodes/1")).status).toBe(200);
      const interfaces = await admin.call("GET", "/labs/one.unl/nodes/1/interfaces");
      expect([interfaces.status, interfaces.text.includes("Undefined offset: 0")]).toEqual([500, true]);
    }));

  test("hidden notices change nothing: a file without anything but type and template is read", () =>
    withFile(withNode({ type: "qemu", template: "linux" }), { notices: "hidden" }, async (admin) => {
      expect(await admin.call("GET", "/labs/one.unl/nodes")).toMatchObject({ status: 200, json: { data: [{ name: "Node0", config: 0 }] } });
    }));
});

test("the first starts of a pod race for its unix user; the same starts later do not", async () => {
  await using eve = await startFakeEve({ latency: "none", freshPods: { meets: 3 } });
  const admin = await signIn(eve);
  await admin.call("POST", "/labs", { path: "/", name: "lab" });
  await admin.call("POST", "/labs/lab.unl/nodes", node("n", { numberNodes: "4" }));
  const start = (id: number) => admin.call("GET", `/labs/lab.unl/nodes/${id}/start`);
  const codes = (await Promise.all([1, 2, 3, 4].map(start))).map(({ code }) => code);
  expect(codes.filter((code) => code === 80049)).toHaveLength(1);
  expect(codes.filter((code) => code === 14)).toHaveLength(3);
  expect((await Promise.all([1, 2, 3, 4].map(start))).map(({ code }) => code)).toEqual([80049, 80049, 80049, 80049]);
  expect(eve.running()).toHaveLength(4);
});

test("a node whose process ends at once is answered as started, and does not run", async () => {
  await using eve = await startFakeEve({ latency: "none" });
  const admin = await signIn(eve);
  await admin.call("POST", "/labs", { path: "/", name: "lab" });
  await admin.call("POST", "/labs/lab.unl/nodes", node("n"));
  eve.failNextStart({ code: 0 });
  expect((await admin.call("GET", "/labs/lab.unl/nodes/1/start")).code).toBe(80049);
  expect((await admin.call("GET", "/labs/lab.unl/nodes/1")).json.data.status).toBe(0);
});
