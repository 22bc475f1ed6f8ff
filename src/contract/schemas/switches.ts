import Type, { type Static } from "typebox";
import { flag, integer, list, optionalFlag, optionalInteger, optionalText, text, word } from "./shapes.ts";

/** lacp_current: the partner of the link answers by LACP. Absent: the interface is in no group with LACP. */
export const SwitchInterface = Type.Object({ interface: text, up: flag, lacp_current: optionalFlag });
export type SwitchInterface = Static<typeof SwitchInterface>;

/**
 * A linked interface, or a link aggregation group with a linked member. vlan: of untagged frames; absent: they are dropped. vlans: numbers and ranges of a trunk;
 * absent: all, or no trunk. role and state: in the spanning tree; absent: the port takes no part. differs: somebody changed the port by hand, and the lab declares something else.
 */
export const SwitchPort = Type.Object({
  port: text,
  mode: word(["access", "trunk"]),
  vlan: optionalInteger,
  vlans: Type.Optional(list(text)),
  interfaces: list(SwitchInterface),
  lacp: Type.Optional(word(["active", "passive", "off"])),
  role: optionalText,
  state: optionalText,
  differs: flag,
});
export type SwitchPort = Static<typeof SwitchPort>;

/** bridge, root: ids of bridges, with priority and address. is_root: the switch is the root of the tree. */
export const SwitchSpanningTree = Type.Object({ mode: word(["rstp", "stp"]), bridge: text, root: text, is_root: flag });
export type SwitchSpanningTree = Static<typeof SwitchSpanningTree>;

/** An address that the switch has learned. age: seconds since its last frame. */
export const SwitchAddress = Type.Object({ mac: text, vlan: integer, port: text, age: integer });
export type SwitchAddress = Static<typeof SwitchAddress>;

/** A VLAN-aware switch. node: its IaC key, or its name on the host. ports and addresses are empty while it does not run. more_addresses: addresses that are left out. */
export const SwitchData = Type.Object({
  node: text,
  running: flag,
  spanning_tree: Type.Optional(SwitchSpanningTree),
  ports: list(SwitchPort),
  addresses: list(SwitchAddress),
  more_addresses: integer,
});
export type SwitchData = Static<typeof SwitchData>;

export const SwitchesData = Type.Object({ lab: text, switches: list(SwitchData) });
export type SwitchesData = Static<typeof SwitchesData>;
