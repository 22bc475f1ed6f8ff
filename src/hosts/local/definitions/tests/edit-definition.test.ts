import { describe, expect, test } from "vitest";
import { linkedNames } from "../definition.ts";
import { editDefinition } from "../edit-definition.ts";

import { empty, link, node, noIds, template } from "./definition.fixture.ts";

describe("editing a definition", () => {
  test("steps create nodes, networks and links, add interfaces for links, and return the ids", () => {
    const edit = editDefinition(empty, noIds, template);
    edit.step({ do: "create-network", network: { key: "lan", name: "LAN", type: "bridge" } });
    edit.step({ do: "create-node", node: node("r1", { startupConfigFile: "r1.conf", startupConfig: "hi" }) });
    edit.step({ do: "create-node", node: node("r2", { name: "Router 2", ethernet: 1 }) });
    edit.step({ do: "create-link", link: link("r1:eth2", "r2:eth0", { mtu: 9000 }) });
    edit.step({ do: "create-link", link: link("r1:eth0", "lan") });
    const lab = edit.result();
    expect(lab.nodes.map(({ id: number, name, ethernet, power }) => ({ number, name, ethernet, power }))).toEqual([
      { number: 1, name: "r1", ethernet: 3, power: "stopped" },
      { number: 2, name: "Router 2", ethernet: 1, power: "stopped" },
    ]);
    expect(lab.nodes[0]).not.toHaveProperty("startupConfigFile");
    expect(lab.links).toEqual([
      {
        id: 1,
        endpoints: [
          { node: 1, interface: "eth2" },
          { node: 2, interface: "eth0" },
        ],
        mtu: 9000,
      },
      { id: 2, endpoints: [{ node: 1, interface: "eth0" }, { network: 1 }] },
    ]);
    expect(edit.ids()).toEqual({
      nodes: { r1: "1", r2: "2" },
      networks: { lan: "1" },
      links: { "r1:eth2 -- r2:eth0": "1", "lan -- r1:eth0": "2" },
    });
  });

  test("the same steps again, with and without the ids, change nothing", () => {
    const steps = [
      { do: "create-node", node: node("a") },
      { do: "create-node", node: node("b") },
      { do: "create-link", link: link("a:eth0", "b:eth0") },
    ] as const;
    const first = editDefinition(empty, noIds, template);
    for (const step of steps) first.step(step);
    const made = first.result();
    for (const ids of [noIds, first.ids()]) {
      const again = editDefinition(made, ids, template);
      for (const step of steps) again.step(step);
      expect(again.result()).toEqual(made);
      expect(again.ids()).toEqual(first.ids());
      again.step({ do: "delete-link", link: "a:eth0 -- b:eth0" });
      again.step({ do: "delete-link", link: "a:eth0 -- b:eth0" });
      expect(again.result().links).toEqual([]);
    }
  });

  test("an interface has one link, by whichever of its names", () => {
    const named = (id: string) => ({ ...template(id)!, ethFormat: "e1-{1}|ethernet-1/{1}" });
    const edit = editDefinition(empty, noIds, named);
    for (const key of ["a", "b", "c"]) edit.step({ do: "create-node", node: node(key) });
    edit.step({ do: "create-link", link: link("a:ethernet-1/1", "b:e1-1") });
    edit.step({ do: "create-link", link: link("a:e1-1", "b:Ethernet-1/1") });
    expect(edit.result().links).toEqual([
      {
        id: 1,
        endpoints: [
          { node: 1, interface: "e1-1" },
          { node: 2, interface: "Ethernet-1/1" },
        ],
      },
    ]);
    expect(() => edit.step({ do: "create-link", link: link("a:ethernet-1/1", "c:e1-1") })).toThrow(
      "one of its interfaces has another link",
    );
    const names = linkedNames(edit.result(), { template: named });
    expect([...names].map(([id, of]) => [id, ...of.values()])).toEqual([
      [1, "e1-1"],
      [2, "Ethernet-1/1"],
    ]);
  });

  test("an id is never reused, and the links of a removed node are removed too", () => {
    const edit = editDefinition(empty, noIds, template);
    edit.step({ do: "create-node", node: node("a") });
    edit.step({ do: "create-node", node: node("b") });
    edit.step({ do: "create-link", link: link("a:eth0", "b:eth0") });
    edit.step({ do: "delete-node", node: "b" });
    expect(edit.result().links).toEqual([]);
    edit.step({ do: "create-node", node: node("b") });
    expect(edit.ids().nodes).toEqual({ a: "1", b: "3" });
  });

  test("impossible steps are refused with the host's message", () => {
    const edit = editDefinition(empty, noIds, template);
    edit.step({ do: "create-node", node: node("a") });
    edit.step({ do: "create-node", node: node("b") });
    edit.step({ do: "create-node", node: node("c") });
    edit.step({ do: "create-link", link: link("a:eth0", "b:eth0") });
    const refusals: readonly (readonly [Parameters<typeof edit.step>[0], string])[] = [
      [{ do: "create-link", link: link("a:eth0", "c:eth0") }, "interface_taken"],
      [{ do: "create-link", link: link("c:eth1", "c:eth1") }, "interface_taken"],
      [{ do: "create-link", link: link("a:Gi0", "c:eth0") }, "interface_unknown"],
      [{ do: "create-link", link: link("a:eth4", "c:eth0") }, "too_many_interfaces"],
      [{ do: "create-link", link: link("x:eth0", "c:eth0") }, "node_unknown"],
      [{ do: "create-link", link: link("c:eth0", "net") }, "network_unknown"],
      [{ do: "create-node", node: node("d", { ethernet: 5 }) }, "too_many_interfaces"],
      [{ do: "create-node", node: node("d", { template: "vmx" }) }, "template_unknown"],
    ];
    const before = edit.result();
    for (const [step, code] of refusals) {
      expect(() => edit.step(step)).toThrow(
        expect.objectContaining({ code: "host_error", data: { host: expect.objectContaining({ code }) } }),
      );
    }
    expect(edit.result().nodes).toEqual(before.nodes);
    expect(edit.result().links).toEqual(before.links);
  });

  test("a node with the name of a kept disk gets the disk's id", () => {
    const edit = editDefinition({ ...empty, next: { node: 5, network: 1, link: 1 }, disks: { b: 4, z: 9 } }, noIds, template);
    for (const key of ["a", "b", "z"]) edit.step({ do: "create-node", node: node(key) });
    expect(edit.ids().nodes).toEqual({ a: "5", b: "4", z: "6" });
  });
});
