import { expect, it } from "vitest";
import { eveBench, operation, pair } from "../eve-bench.fixture.ts";
import { readUnl, writeUnl } from "../lab-file/unl.ts";

it("a restore keeps the disk of each node of a name, and reports the deleted one", async () => {
  await using bench = await eveBench();
  const { fake, session, run } = bench;
  await bench.make("/pair", pair);
  const stops = pair.nodes.map(({ key }) => operation({ do: "stop", node: key, mode: 1 }));
  await run("/pair", pair, stops);
  await session.snapshots!.take("/pair", "early");
  const before = readUnl(fake.labFile("/pair.unl") ?? "");
  fake.putLabFile("/pair.unl", writeUnl({ ...before, nodes: [...before.nodes, { ...before.nodes[0]!, id: 9, interfaces: [] }] }));
  const restored = await session.snapshots!.restore("/pair", "early", {
    nodes: { pc1: "1", pc2: "2", "pc1-2": "9" },
    networks: {},
    links: {},
  });
  expect(restored.nodes.map(({ id, name, disk }) => [id, name, disk])).toEqual([
    ["1", "pc1", "kept"],
    ["2", "pc2", "kept"],
  ]);
  expect(restored.removed).toEqual([{ id: "9", name: "pc1" }]);
  expect(restored.ids.nodes).toEqual({ pc1: "1", pc2: "2" });
});
