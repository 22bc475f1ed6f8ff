import { describe, expect, test } from "vitest";
import type { Switching } from "../../../intent/lab/switching.ts";
import type { DefinedNode, LabDefinition } from "../definitions/definition.ts";
import type { LocalTemplate } from "../templates/template.ts";
import { type ActualSwitch, type ActualSwitches, parseSwitches } from "./read-switches.ts";
import { switchCommands } from "./switch-commands.ts";
import { parseAddresses } from "./switch-states.ts";
import { wantedSwitches } from "./wanted-switches.ts";

const template = () => ({ backend: "bridge", ethFormat: "eth{0}" }) as LocalTemplate;

/** A lab with one switch, whose interfaces eth0 … are linked. */
function labOf(switching: Switching | undefined, links: number, power: DefinedNode["power"] = "running"): LabDefinition {
  const node: DefinedNode = {
    id: 3,
    name: "sw",
    template: "switch",
    exec: [],
    ethernet: links,
    env: {},
    attributes: {},
    labels: {},
    power,
    ...(switching && { switching }),
  };
  return {
    version: 1,
    id: "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
    path: "/t",
    name: "t",
    owner: "admin",
    locked: false,
    next: { node: 9, network: 9, link: 99 },
    nodes: [node],
    networks: [{ id: 1, name: "n", type: "bridge" }],
    links: Array.from({ length: links }, (_, i) => ({ id: i + 1, endpoints: [{ node: 3, interface: `eth${i}` }, { network: 1 }] })),
    texts: [],
    trafficFilters: [],
  };
}

const wanted = (switching: Switching, links: number) => wantedSwitches(labOf(switching, links), template);

/** What Open vSwitch has after the commands for this switch. */
function actualOf(switching: Switching, links: number): ActualSwitches {
  const [one] = wanted(switching, links);
  const ports = one!.ports.map(({ name, interfaces, lacp }) => ({
    name,
    tag: 1,
    trunks: [],
    vlanMode: "access",
    lacp,
    status: {},
    rstpStatus: {},
    interfaces: interfaces
      .map(({ device }) => ({ name: device, error: undefined, port: 1, isUp: true, lacpCurrent: undefined }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
  }));
  const actual: ActualSwitch = { digest: one!.digest, status: {}, rstpStatus: {}, usesStp: false, usesRstp: false, ports };
  return new Map([["s3", actual]]);
}

const text = (commands: ReturnType<typeof switchCommands>) => commands.map((all) => all.map((command) => command.join(" ")));
const none: ReadonlySet<string> = new Set();

describe("the commands for Open vSwitch", () => {
  test("a switch without VLANs, or one that is off, is not of Open vSwitch", () => {
    expect(wantedSwitches(labOf(undefined, 2), template)).toEqual([]);
    expect(wantedSwitches(labOf({}, 2, "stopped"), template)).toEqual([]);
  });

  test("ports have the VLANs of switches: access 1 unless declared, native 1 if a trunk carries it", () => {
    const switching: Switching = {
      interfaces: {
        eth1: { mode: "access", vlan: 10 },
        eth2: { mode: "trunk" },
        eth3: { mode: "trunk", vlans: [10, "20-29"] },
        eth4: { mode: "trunk", vlans: [10, 99], nativeVlan: 99 },
        eth9: { mode: "access", vlan: 9 },
      },
    };
    const [commands] = text(switchCommands(wanted(switching, 5), new Map(), none));
    expect(commands?.filter((command) => command.startsWith("set Port"))).toEqual([
      "set Port n3x0 vlan_mode=access tag=1",
      "set Port n3x1 vlan_mode=access tag=10",
      "set Port n3x2 vlan_mode=native-untagged tag=1",
      "set Port n3x3 vlan_mode=trunk trunks=10,20-29",
      "set Port n3x4 vlan_mode=native-untagged tag=99 trunks=10,99",
    ]);
  });

  test("a group is a bond of its linked members; with one of them it is that port", () => {
    const switching: Switching = { lag: { lag1: { members: ["eth1", "eth0", "eth7"], mode: "trunk", lacp: "off" } } };
    const two = text(switchCommands(wanted(switching, 2), new Map(), none)).flat();
    expect(two).toContain("--may-exist add-bond s3 s3-lag1 n3x1 n3x0");
    expect(two).toContain(
      "set Port s3-lag1 vlan_mode=native-untagged tag=1 lacp=off bond_mode=active-backup other_config:bond-primary=n3x1",
    );
    const one = text(switchCommands(wanted(switching, 1), actualOf(switching, 2), none));
    expect(one[0]).toContain("--if-exists del-port s3 s3-lag1");
    expect(one[1]).toContain("--may-exist add-port s3 n3x0");
  });

  test("nothing is sent if nothing differs; a new device, a failed port and another setting are", () => {
    const switching: Switching = { interfaces: { eth1: { mode: "access", vlan: 10 } } };
    const actual = actualOf(switching, 2);
    expect(switchCommands(wanted(switching, 2), actual, none)).toEqual([]);
    expect(text(switchCommands(wanted(switching, 2), actual, new Set(["n3x1"])))[0]).toContain("--if-exists del-port s3 n3x1");
    const [port, ...others] = actual.get("s3")!.ports;
    const failed = { ...port!, interfaces: [{ ...port!.interfaces[0]!, port: -1 }] };
    const withFailed: ActualSwitches = new Map([["s3", { ...actual.get("s3")!, ports: [failed, ...others] }]]);
    expect(text(switchCommands(wanted(switching, 2), withFailed, none))[0]).toContain("--if-exists del-port s3 n3x0");
    const changed = text(switchCommands(wanted({ interfaces: { eth1: { mode: "access", vlan: 11 } } }, 2), actual, none));
    expect(changed.flat().filter((command) => /del-/.test(command))).toEqual([]);
    expect(changed[1]).toContain("set Port n3x1 vlan_mode=access tag=11");
    expect(text(switchCommands([], actual, none))).toEqual([["--if-exists del-br s3"]]);
  });

  test("ports are made again when a spanning tree ends, because blocked ones would stay blocked", () => {
    const actual = actualOf({}, 2);
    const withTree: ActualSwitches = new Map([["s3", { ...actual.get("s3")!, digest: "other", usesRstp: true }]]);
    const [first, second] = text(switchCommands(wanted({}, 2), withTree, none));
    expect(first?.slice(0, 2)).toEqual(["--if-exists del-port s3 n3x0", "--if-exists del-port s3 n3x1"]);
    expect(first?.[2]).toContain("rstp_enable=false");
    expect(second).toContain("--may-exist add-port s3 n3x0");
    const kept = text(switchCommands(wanted({ spanningTree: { mode: "rstp" } }, 2), withTree, none)).flat();
    expect(kept.filter((command) => /del-/.test(command))).toEqual([]);
  });

  test("a mirror names ports; a member of a group is its group, and without a linked output there is no mirror", () => {
    const switching: Switching = {
      lag: { lag1: { members: ["eth0", "eth1"], mode: "access" } },
      mirror: { from: ["eth0", "lag1", "eth2", "eth9"], to: "eth3" },
    };
    expect(wanted(switching, 4)[0]?.mirror).toEqual({ from: ["s3-lag1", "n3x2"], to: "n3x3" });
    expect(wanted(switching, 3)[0]?.mirror).toBeUndefined();
    expect(text(switchCommands(wanted(switching, 3), new Map(), none)).flat()).toContain("clear Bridge s3 mirrors");
  });
});

test("answers of the database are read, and unusable ones refused", () => {
  const uuid = (n: number) => ["uuid", `u${n}`];
  const rows = (...all: readonly object[]) => ({ rows: all });
  const bridge = {
    name: "s3",
    ports: ["set", [uuid(1), uuid(2)]],
    external_ids: ["map", [["labwright", "d"]]],
    status: ["map", []],
    rstp_status: ["map", []],
    stp_enable: false,
    rstp_enable: true,
  };
  const port = {
    tag: 10,
    trunks: ["set", [5, "x", 1e99]],
    vlan_mode: "access",
    lacp: ["set", []],
    status: ["map", []],
    rstp_status: ["map", []],
  };
  const device = { error: ["set", []], ofport: 2, link_state: "up", lacp_current: ["set", []] };
  const answer = JSON.stringify([
    rows(bridge),
    rows({ ...port, _uuid: uuid(1), name: "n3x1", interfaces: uuid(3) }, { ...port, _uuid: uuid(2), name: "s3", interfaces: uuid(9) }),
    rows({ ...device, _uuid: uuid(3), name: "n3x1" }),
  ]);
  const found = parseSwitches(answer).get("s3");
  expect(found).toMatchObject({ digest: "d", usesRstp: true, usesStp: false });
  expect(found?.ports).toMatchObject([{ name: "n3x1", tag: 10, trunks: [5], interfaces: [{ name: "n3x1", port: 2, isUp: true }] }]);
  for (const wrong of ["", "{}", '[{"rows":[null]}]', '[{"error":"no"}]'])
    expect(() => parseSwitches(wrong), wrong).toThrow(expect.objectContaining({ code: "host_error" }));
});

test("learned addresses have the names of ports; others are left out", () => {
  const ports = wanted({ lag: { lag1: { members: ["eth0", "eth1"], mode: "access" } } }, 3)[0]!.ports;
  const output = ` port  VLAN  MAC                Age
LOCAL    10  02:00:00:00:00:09    1
    2    10  02:00:00:00:00:01   12
    7    20  02:00:00:00:00:02    0
    8    20  02:00:00:00:00:03    0
OFPT_FEATURES_REPLY (xid=0x2): dpid:0000
 2(n3x1): addr:02:56:a7:00:04:01
 7(n3x2): addr:02:56:a7:00:04:02
`;
  expect(parseAddresses(output, ports)).toEqual([
    { mac: "02:00:00:00:00:01", vlan: 10, port: "lag1", age: 12 },
    { mac: "02:00:00:00:00:02", vlan: 20, port: "eth2", age: 0 },
  ]);
});
