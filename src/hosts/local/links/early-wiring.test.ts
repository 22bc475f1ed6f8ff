import { expect, test } from "vitest";
import type { LabDefinition } from "../definitions/definition.ts";
import { localPaths } from "../machine/paths.ts";
import { sandboxBench } from "../sandbox/sandbox.fixture.ts";
import type { SpawnedNode } from "../sandbox/sandbox.ts";
import type { LocalTemplate } from "../templates/template.ts";
import { EarlyWiring } from "./early-wiring.ts";
import { type Fabric, wantedFabric } from "./fabric.ts";
import { readFabric } from "./read-fabric.ts";

/** A chain n1 – n2 – n3, whose n2 is on a network too. */
const chain: LabDefinition = {
  version: 1,
  id: "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
  path: "/t",
  name: "t",
  owner: "admin",
  locked: false,
  next: { node: 4, network: 2, link: 4 },
  nodes: [1, 2, 3].map((id) => ({
    id,
    name: `n${id}`,
    template: "linux",
    exec: [],
    ethernet: 3,
    env: {},
    attributes: {},
    labels: {},
    power: "running",
  })),
  networks: [{ id: 1, name: "net1", type: "bridge" }],
  links: [
    { id: 1, endpoints: [eth(1, 1), eth(2, 1)], mtu: 1400 },
    { id: 2, endpoints: [eth(2, 2), eth(3, 1)] },
    { id: 3, endpoints: [eth(2, 0), { network: 1 }] },
  ],
  texts: [],
  trafficFilters: [],
};
const nothing: Fabric = { bridges: new Set(), ports: new Map() };

const bench = sandboxBench("early");

const { shaper } = localPaths(process.env, process.getuid?.() ?? 0);

test.each([
  ["", shaper],
  [", also without the program for it", "/no/such/program"],
])("ports that are made in batches all exist, and done() returns the fabric that the kernel has%s", async (_, program) => {
  const sandbox = await bench.create();
  const wired: (readonly number[])[] = [];
  const early = new EarlyWiring(sandbox, nothing, wanted(), program, (ids) => wired.push(ids));
  for (const ids of [[2], [3, 1]]) {
    const some: number[] = [];
    const add = (node: SpawnedNode) => {
      some.push(node.id);
      early.add(node);
    };
    await sandbox.spawn(
      ids.map((id) => bench.node(id)),
      add,
    );
    expect(some.sort()).toEqual([...ids].sort());
  }
  const known = await early.done();
  expect(known?.ports.size).toBe(9);
  expect(sorted(known)).toEqual(sorted(await readFabric(sandbox)));
  expect(known?.ports.get("n2i1")).toEqual({ up: true, mtu: 1400, redirect: "n1i1" });
  expect(known?.ports.get("n1i1")?.redirect).toBe("n2i1");
  expect(known?.ports.get("n2i0")?.master).toBe("b1");
  expect(wired.map((ids) => [...ids].sort())).toEqual([[1, 2, 3]]);
});

test("a node is reported as wired when the other ends of its links exist too", async () => {
  const sandbox = await bench.create();
  const wired: (readonly number[])[] = [];
  const early = new EarlyWiring(sandbox, nothing, wanted(), shaper, (ids) => wired.push(ids));
  for (const id of [3, 1, 2]) {
    await sandbox.spawn([bench.node(id)], (node) => early.add(node));
    expect(await early.done()).toBeDefined();
  }
  expect(wired).toEqual([[3, 1, 2]]);
  const other = await bench.create();
  const inOrder: (readonly number[])[] = [];
  const second = new EarlyWiring(other, nothing, wanted(), shaper, (ids) => inOrder.push(ids));
  for (const id of [1, 2, 3]) {
    await other.spawn([bench.node(id)], (node) => second.add(node));
    expect(await second.done()).toBeDefined();
  }
  expect(inOrder).toEqual([[1], [2, 3]]);
});

test("if a node has died meanwhile, done() returns nothing, no node is reported, and the ports of other nodes exist", async () => {
  const sandbox = await bench.create();
  const wired: (readonly number[])[] = [];
  const early = new EarlyWiring(sandbox, nothing, wanted(), shaper, (ids) => wired.push(ids));
  const spawned = await sandbox.spawn([bench.node(1), bench.node(2)]);
  early.add(spawned.find(({ id }) => id === 1)!);
  expect(await early.done()).toBeDefined();
  await sandbox.stop([2], "kill", 0);
  early.add(spawned.find(({ id }) => id === 2)!);
  expect(await early.done()).toBeUndefined();
  expect(wired).toEqual([]);
  expect([...(await readFabric(sandbox)).ports.keys()].filter((name) => name.startsWith("n1"))).toEqual(["n1i0", "n1i1", "n1i2"]);
});

/** Returns the wanted fabric while all nodes are still being spawned. */
function wanted() {
  const template = () => ({ ethFormat: "eth{0}", backend: "namespace" }) as LocalTemplate;
  return wantedFabric(chain, new Map(chain.nodes.map(({ id }) => [id, 0])), template);
}

function sorted(fabric: Fabric | undefined) {
  return { bridges: [...(fabric?.bridges ?? [])].sort(), ports: Object.fromEntries([...(fabric?.ports ?? [])].sort()) };
}

function eth(node: number, index: number) {
  return { node, interface: `eth${index}` };
}
