import { expect, test } from "vitest";
import type { Switching } from "../../intent/lab/switching.ts";
import { switchingChanges } from "./diff-switching.ts";

const full: Switching = {
  interfaces: {
    eth1: { mode: "access", vlan: 10 },
    eth2: { mode: "trunk", vlans: [10, "20-29"], nativeVlan: 20 },
    eth10: { mode: "trunk" },
  },
  lag: { lag1: { members: ["eth3", "eth4"], mode: "trunk", vlans: [10] } },
  spanningTree: { mode: "rstp", priority: 4096 },
  mirror: { from: ["eth1", "lag1"], to: "eth5" },
};

test("each setting of a switch is a change of its own, in the words of switches", () => {
  expect(switchingChanges(undefined, full).map(({ field, before, after }) => [field, before, after])).toEqual([
    ["switching", null, "VLAN-aware"],
    ["switching.interfaces.eth1", null, "access 10"],
    ["switching.interfaces.eth2", null, "trunk 10,20-29 native 20"],
    ["switching.interfaces.eth10", null, "trunk all native 1"],
    ["switching.lag.lag1", null, "eth3, eth4 lacp active, trunk 10"],
    ["switching.mirror", null, "eth1, lag1 to eth5"],
    ["switching.spanning-tree", null, "rstp priority 4096"],
  ]);
});

test("only what differs is a change; defaults that are written are none", () => {
  const after: Switching = {
    ...full,
    interfaces: { ...full.interfaces, eth1: { mode: "access", vlan: 11 } },
    mirror: { from: ["eth1"], to: "eth5" },
  };
  expect(switchingChanges(full, after)).toEqual([
    { field: "switching.interfaces.eth1", before: "access 10", after: "access 11" },
    { field: "switching.mirror", before: "eth1, lag1 to eth5", after: "eth1 to eth5" },
  ]);
  const [bare, written]: Switching[] = [
    { interfaces: { eth1: { mode: "access" } } },
    { interfaces: { eth1: { mode: "access", vlan: 1 } } },
  ];
  expect(switchingChanges(bare, written)).toEqual([]);
  expect(switchingChanges({}, undefined)).toEqual([{ field: "switching", before: "VLAN-aware", after: null }]);
});
