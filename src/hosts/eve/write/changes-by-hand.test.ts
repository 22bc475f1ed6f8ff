import { afterEach, expect, it } from "vitest";
import { type EveBench, eveBench, lab, node } from "../eve-bench.fixture.ts";

let made: EveBench | undefined;

afterEach(async () => {
  const ended = made;
  made = undefined;
  await ended?.[Symbol.asyncDispose]();
  expect(ended?.fake.defects ?? []).toEqual([]);
});

it("a change by hand while nodes are wiped, before the import of the file, is not overwritten", async () => {
  made = await eveBench();
  const { make, run, plan, fake } = made;
  const names = ["a", "b", "c", "d", "e", "f"];
  await make("/lab", lab({ nodes: names.map((name) => node(name, "vpcs", { start: false })) }));
  // Five added networks are more than a few single calls: the change is one import.
  const networks = names.map((key) => ({ key, name: key, type: "bridge" }));
  const wanted = lab({ nodes: names.slice(0, 5).map((name) => node(name, "vpcs", { start: false })), networks });
  const { operations } = await plan("/lab", wanted);
  let changes = 0;
  fake.meanwhile(/wipe/, () => {
    changes += 1;
    fake.putLabFile("/lab.unl", (fake.labFile("/lab.unl") ?? "").replace('name="a"', 'name="by-hand"'));
  });
  made.calls();
  await run("/lab", wanted, operations);
  expect(changes).toBe(1);
  expect(made.calls().some((call) => call.includes("/api/import"))).toBe(true);
  expect(fake.labFile("/lab.unl")).toContain('name="by-hand"');
  expect(fake.labFile("/lab.unl")).not.toContain('name="f" type="vpcs"');
});
