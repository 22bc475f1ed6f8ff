import { describe, expect, test } from "vitest";
import type { DefinedNode, LabDefinition } from "../definitions/definition.ts";
import type { Catalogue } from "../templates/catalogue.ts";
import { labOf, noIds, testLocalHost } from "../testing/test-local-host.fixture.ts";
import { Admission } from "./admission.ts";
import { probeControlGroups } from "./control-groups.ts";

const catalogue = { template: () => undefined } as unknown as Catalogue;
const node = (id: number, ram: number, power: DefinedNode["power"] = "stopped") => ({ id, ram, power }) as DefinedNode;
const lab = (id: string, ...nodes: readonly DefinedNode[]) => ({ id, nodes }) as unknown as LabDefinition;

describe("memory of nodes that start", () => {
  test("two that are admitted at the same moment are not promised the same, and one that fails gives back what was held", async () => {
    const labs = [lab("a", node(1, 600)), lab("b", node(1, 600))];
    const admission = new Admission({ all: async () => labs }, async (promised) => 1000 - promised);
    const [first, second] = await Promise.allSettled(labs.map(({ id, nodes }) => admission.admit(id, nodes, catalogue)));
    expect(second).toMatchObject({ reason: { code: "host_error", data: { host: { needs_mib: 600, free_mib: 400 } } } });
    expect(await admission.room(catalogue)).toBe(400);
    if (first?.status === "fulfilled") first.value[Symbol.dispose]();
    expect(await admission.room(catalogue)).toBe(1000);
    using _held = await admission.admit("b", labs[1]!.nodes, catalogue);
    expect(await admission.room(catalogue)).toBe(400);
  });

  test("a node that is held and already runs counts once", async () => {
    const labs = [lab("a", node(1, 600), node(2, 100))];
    const admission = new Admission({ all: async () => labs }, async (promised) => 1000 - promised);
    const held = await admission.admit("a", labs[0]!.nodes, catalogue);
    labs[0] = lab("a", node(1, 600, "running"), node(2, 100));
    expect(await admission.room(catalogue)).toBe(300);
    held[Symbol.dispose]();
    expect(await admission.room(catalogue)).toBe(400);
  });

  test("the daemons of a lab's VLAN-aware switches count once for each lab, with the first switch that starts", async () => {
    const vlans = (id: number, power: DefinedNode["power"] = "stopped") =>
      ({ id, power, template: "switch", switching: {} }) as unknown as DefinedNode;
    const labs = [lab("a", vlans(1), vlans(2)), lab("b", vlans(1), node(2, 20))];
    const admission = new Admission({ all: async () => labs }, async (promised) => 70 - promised);
    using _first = await admission.admit("a", [labs[0]!.nodes[0]!], catalogue);
    expect(await admission.room(catalogue)).toBe(38);
    using _second = await admission.admit("a", [labs[0]!.nodes[1]!], catalogue);
    expect(await admission.room(catalogue)).toBe(38);
    await expect(admission.admit("b", labs[1]!.nodes, catalogue)).rejects.toMatchObject({
      data: { host: { needs_mib: 52, free_mib: 38 } },
    });
  });

  test("a node that two starts hold is held until both are over", async () => {
    const labs = [lab("a", node(1, 400))];
    const admission = new Admission({ all: async () => labs }, async (promised) => 1000 - promised);
    const [one, two] = [await admission.admit("a", labs[0]!.nodes, catalogue), await admission.admit("a", labs[0]!.nodes, catalogue)];
    one[Symbol.dispose]();
    expect(await admission.room(catalogue)).toBe(600);
    two[Symbol.dispose]();
    expect(await admission.room(catalogue)).toBe(1000);
  });
});

test.skipIf(process.getuid?.() !== 0)(
  "of two deploys at once that do not fit together one is refused, and changes nothing",
  async (context) => {
    // Without that controller a plan leaves the memory of a node out, as unsupported: nothing is promised.
    const groups = await probeControlGroups();
    if (groups.memory === undefined) return context.skip(groups.why.memory);
    await using local = await testLocalHost({ freeMemory: (promised) => 1000 - promised });
    const one = (name: string) => labOf(`{name: ${name}, nodes: {a: {template: linux, ram: 600, start: true}}}`);
    // Both are planned while nothing is promised; how the two then run into each other must not matter.
    const plans = await Promise.all(
      ["first", "second"].map(async (name) => [`/${name}`, await local.plan(`/${name}`, one(name))] as const),
    );
    const done = await Promise.allSettled(
      plans.map(([path, { plan }]) => local.session.apply(path, plan.operations, { ids: noIds, step: () => undefined })),
    );
    expect(done.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const refused = done.find(({ status }) => status === "rejected");
    expect(refused).toMatchObject({ reason: { code: "host_error", message: expect.stringContaining("400 MiB are free") } });
    const [winner, loser] = done[0]?.status === "fulfilled" ? ["first", "second"] : ["second", "first"];
    expect((await local.session.status(`/${loser}`)).nodes).toMatchObject([{ status: "stopped" }]);
    await local.deploy(`/${winner}`, null);
    await local.deploy(`/${loser}`, one(loser!));
    expect((await local.session.status(`/${loser}`)).nodes).toMatchObject([{ name: "a" }]);
    expect((await local.session.rules()).freeMemory).toBe(400);
  },
);
