import { describe, expect, test } from "vitest";
import type { Switching } from "../../lab/switching.ts";
import { printLab } from "../../write/print.ts";
import { readIntent } from "../read.ts";

const yamlOf = (switching: string) =>
  `name: x
nodes:
  sw: {template: switch, switching: ${switching}}
  h: {template: linux}
links:
${[1, 2, 3, 4].map((n) => `  - ["sw:eth${n}", "h:eth${n}"]`).join("\n")}
`;

const read = (switching: string) => readIntent(yamlOf(switching));
const problems = (switching: string) =>
  read(switching).diagnostics.map(({ code, path, message, hint }) =>
    [`${code} ${path.replace("/nodes/sw/switching", "")}: ${message}`, hint].filter(Boolean).join("; "),
  );
const readValue = (switching: string): Switching | undefined => read(switching).lab?.nodes.find(({ key }) => key === "sw")?.switching;

describe("switching", () => {
  test("has VLANs, groups, spanning tree and a mirror, in the notations of vendors", () => {
    const found = readValue(
      "{interfaces: {eth1: {vlan: 10}, eth2: {vlans: '30, 10-12,11-20', native-vlan: 30}}, " +
        "lag: {lag1: {members: [eth4], lacp: passive, mode: trunk, vlans: all}}, spanning-tree: {priority: 4096}, mirror: {from: eth1, to: eth3}}",
    );
    expect(found).toEqual({
      interfaces: { eth1: { mode: "access", vlan: 10 }, eth2: { mode: "trunk", vlans: ["10-20", 30], nativeVlan: 30 } },
      lag: { lag1: { members: ["eth4"], lacp: "passive", mode: "trunk" } },
      spanningTree: { mode: "rstp", priority: 4096 },
      mirror: { from: ["eth1"], to: "eth3" },
    });
  });

  test.each([
    "{}",
    "{interfaces: {eth1: {mode: access}, eth2: {mode: trunk, vlans: [1, 20-29, 4094], native-vlan: 1}}}",
    "{lag: {lag1: {members: [eth4, eth3], lacp: off}}, spanning-tree: off}",
    "{spanning-tree: {mode: stp, priority: 0}, mirror: {from: [eth1, eth2], to: eth3}}",
  ])("%s is the same after it was printed and read", (switching) => {
    const { lab } = read(switching);
    const { yaml, files } = printLab(lab!);
    expect(readIntent(yaml, files)).toEqual({ lab, diagnostics: [] });
  });

  test.each([
    ["{interfaces: {eth1: {vlan: 4095}}}", ["out_of_range /interfaces/eth1/vlan: 4095 is out of range: 1 to 4094"]],
    ["{interfaces: {eth1: {vlans: [0]}}}", ["out_of_range /interfaces/eth1/vlans/0: 0 is out of range: VLANs are 1 to 4094"]],
    [
      "{interfaces: {eth1: {vlans: [29-20]}}}",
      ["invalid_value /interfaces/eth1/vlans/0: the range 29-20 ends before it begins; write 20-29"],
    ],
    [
      "{interfaces: {eth1: {vlans: [ten]}}}",
      ['invalid_value /interfaces/eth1/vlans/0: "ten" is not a VLAN; write a number or a range such as 20-29'],
    ],
    [
      "{interfaces: {eth1: {mode: trunk, vlan: 10}}}",
      [
        'invalid_value /interfaces/eth1/vlan: "vlan": only an access port has it; a trunk has vlans: [10, 20-29], and native-vlan for untagged frames',
      ],
    ],
    [
      "{interfaces: {eth1: {mode: access, vlans: [10]}}}",
      ['invalid_value /interfaces/eth1/vlans: "vlans": only a trunk has it; write mode: trunk, or vlan: NUMBER for an access port'],
    ],
    [
      "{interfaces: {eth1: {vlans: [10], native-vlan: 99}}}",
      ['invalid_value /interfaces/eth1/native-vlan: "native-vlan": the trunk does not carry VLAN 99; add 99 to vlans'],
    ],
    ["{interfaces: {eth1: {tag: 10}}}", ['unknown_key /interfaces/eth1/tag: unknown key "tag"; did you mean "vlan"?']],
    ["{ports: {}}", ['unknown_key /ports: unknown key "ports"; did you mean "interfaces"?']],
    [
      "{interfaces: {eth1: {mode: acess}}}",
      ['invalid_value /interfaces/eth1/mode: "mode": it must be access, trunk; did you mean "access"?'],
    ],
    [
      "{interfaces: {eth1: {}}, lag: {lag1: {members: [eth1]}}}",
      [
        "interface_in_use /lag/lag1/members/0: the interface eth1 has settings of its own already and cannot be used here; remove one of the two",
      ],
    ],
    [
      "{lag: {lag1: {members: [eth1]}, lag2: {members: [eth1, eth2]}}}",
      [
        "interface_in_use /lag/lag2/members/0: the interface eth1 is a member of lag1 already and cannot be used here; remove one of the two",
      ],
    ],
    [
      "{interfaces: {eth1: {}}, lag: {eth1: {members: [eth2]}}}",
      ["interface_in_use /lag/eth1: the interface eth1 has settings of its own already and cannot be used here; remove one of the two"],
    ],
    ["{lag: {lag1: {}}}", ["missing_key /lag/lag1: the group lag1 has no members; write members: [eth1, eth2]"]],
    ["{lag: {lag1: {members: []}}}", ['invalid_value /lag/lag1/members: "members": a group has at least one member']],
    [
      "{spanning-tree: {priority: 5000}}",
      ['invalid_value /spanning-tree/priority: "priority": a priority is a multiple of 4096; write 4096'],
    ],
    ["{spanning-tree: mstp}", ['invalid_value /spanning-tree: "spanning-tree": it must be rstp, stp, off; did you mean "rstp"?']],
    ["{mirror: {from: [eth1]}}", ["missing_key /mirror: the mirror has no to; write mirror: {from: [eth1], to: eth5}"]],
    ["{mirror: {from: [eth1], to: eth1}}", ['invalid_value /mirror/to: "to": eth1 cannot be mirrored to itself; choose another interface']],
    [
      "{interfaces: {eth2: {}}, mirror: {from: [eth1], to: eth2}}",
      ["interface_in_use /mirror/to: the interface eth2 has settings of its own already and cannot be used here; remove one of the two"],
    ],
    ["{interfaces: {eth11: {}}}", ['unknown_interface : no link uses the interface eth11 of this switch; did you mean "eth1"?']],
    [
      "{spanning-tree: rstp, lag: {lag1: {members: [eth1]}}}",
      [
        "invalid_value /lag: spanning tree does not run on link aggregation groups: they always forward; make sure that no loop consists of groups only",
      ],
    ],
  ])("%s has a problem with its place and the next step", (switching, expected) => {
    expect(problems(switching)).toEqual(expected);
  });

  test("replaces what a node inherits, as a whole", () => {
    const yaml =
      "name: x\nkinds: {sw: {template: switch, switching: {spanning-tree: rstp}}}\nnodes: {a: {kind: sw}, b: {kind: sw, switching: {}}, c: {kind: sw, switching: null}}";
    expect(readIntent(yaml).lab?.nodes.map(({ switching }) => switching)).toEqual([{ spanningTree: { mode: "rstp" } }, {}, undefined]);
  });
});
