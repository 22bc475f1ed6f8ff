import { afterAll, beforeAll, expect, test } from "vitest";
import { execCommand } from "../../../console/dialogue/exec.ts";
import type { DiskCopy } from "../../host-disks.ts";
import { eventually, labOf, type TestLocalHost, testLocalHost } from "../testing/test-local-host.fixture.ts";

/** Disks of nodes with a hypervisor: the overlays over the disks of their image. */

const hang = 300_000;
const yaml = (power: string) => `
name: machines
nodes:
  v1: {template: vm, ${power}}
  k1: {template: linux, kernel: own, ${power}}
`;
let local: TestLocalHost;

beforeAll(async () => {
  local = await testLocalHost({ stopGrace: { graceful: hang, machine: hang } });
});
afterAll(async () => local[Symbol.asyncDispose]());

async function node(lab: string, name: string) {
  const { nodes } = await local.session.status(lab);
  const found = nodes.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no node ${name}`);
  return found;
}

async function guest(lab: string, name: string, command: string): Promise<string> {
  await eventually(
    `${name} is ready`,
    hang,
    () => node(lab, name),
    (one) => one.ready === true || (name === "k1" && one.status === "running"),
  );
  const { stream } = await local.session.console(lab, (await node(lab, name)).id);
  try {
    return (await execCommand(stream, { command, timeoutMs: 120_000 })).output;
  } finally {
    stream.destroy();
  }
}

async function stop(lab: string): Promise<void> {
  const operations = ["v1", "k1"].map((name) => ({
    ...{ id: name, of: name, op: "stop" as const, kind: "node" as const, key: name, disruption: "none" as const },
    reason: { code: "requested" as const, text: "test" },
    ...{ affects: [], changes: [], prune: false },
    step: { do: "stop" as const, node: name, mode: 3 as const },
  }));
  await local.session.apply(lab, operations, { ids: local.ids(lab), step: () => undefined });
}

async function bytesOf(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of source) parts.push(part);
  return Buffer.concat(parts);
}

test("a virtual machine and a node with its own kernel have their disks in another lab", { timeout: 900_000 }, async () => {
  const transfers = local.session.disks!.transfers;
  await local.deploy("/one", labOf(yaml("start: true")));
  for (const name of ["v1", "k1"]) await guest("/one", name, "echo kept > /root/note; sync");
  await expect(transfers.exportLab("/one", "admin")).rejects.toMatchObject({ code: "nodes_running" });
  await stop("/one");
  const { id, disks } = await transfers.exportLab("/one", "admin");
  expect(disks.map(({ node: name, kind, kernel }) => [name, kind, kernel])).toEqual([
    ["k1", "machine", "own"],
    ["v1", "machine", undefined],
  ]);
  const uploaded = await upload(disks, (name) => transfers.read(id, name, 0).then(bytesOf));
  await local.deploy("/two", labOf(yaml("start: true")));
  for (const name of ["v1", "k1"]) expect(await guest("/two", name, "cat /root/note")).toContain("kept");
  expect(uploaded.nodes).toEqual(["k1", "v1"]);

  const other = disks.map((disk) => ({ ...disk, base: "0".repeat(64) }));
  await expect(transfers.importLab("/three", other)).rejects.toMatchObject({ message: expect.stringContaining("another image") });
  await transfers.drop(id);
});

async function upload(disks: readonly DiskCopy[], read: (name: string) => Promise<Buffer>) {
  const transfers = local.session.disks!.transfers;
  const { id } = await transfers.importLab("/two", disks);
  for (const { node: name } of disks) await transfers.write(id, name, 0, await read(name));
  return transfers.finish(id);
}
