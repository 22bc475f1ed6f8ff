import { expect, test } from "vitest";
import { frrChange } from "../../../base/frr-config.ts";
import { editIntent } from "../../edit/edit.ts";
import type { Lab } from "../../lab/lab.ts";
import { printLab } from "../../write/print.ts";
import { readIntent } from "../read.ts";

function read(yaml: string): Lab {
  const { lab, diagnostics } = readIntent(yaml);
  expect(diagnostics).toEqual([]);
  const { inherited: _inherited, ...structure } = lab as Lab;
  return structure;
}

const problems = (yaml: string) => readIntent(yaml).diagnostics.map(({ code, line, message }) => ({ code, line, message }));
const configOf = ({ nodes }: Lab, key: string) => nodes.find((node) => node.key === key)?.startupConfig ?? "";

/** Fixed addresses, so that the whole configuration can be compared. */
const pair = (routing: string, r1 = "", r2 = "") => `name: x
routing: ${routing}
nodes:
  r1: {template: frr, addresses: {lo: 10.255.0.1/32, eth1: 10.0.0.0/31, eth2: ["10.1.0.1/24", "fd00:1::1/64"]}${r1}}
  r2: {template: frr, addresses: {lo: 10.255.0.2/32, eth1: 10.0.0.1/31}${r2}}
  h1: {template: linux, addresses: {eth1: 10.1.0.2/24}}
links: [r1-r2, r1-h1]
`;

test("OSPF runs on the loopback and the interfaces with addresses; those without another router are passive", () => {
  const lab = read(pair("{ospf: true}"));
  expect(configOf(lab, "r1")).toBe(`interface lo
 ip address 10.255.0.1/32
 ip ospf area 0
exit
!
interface eth1
 ip address 10.0.0.0/31
 ip ospf area 0
 ip ospf network point-to-point
exit
!
interface eth2
 ip address 10.1.0.1/24
 ipv6 address fd00:1::1/64
 ip ospf area 0
 ip ospf network point-to-point
 ip ospf passive
 ipv6 ospf6 area 0
 ipv6 ospf6 network point-to-point
 ipv6 ospf6 passive
exit
!
router ospf
 ospf router-id 10.255.0.1
 timers throttle lsa all 50
 timers lsa min-arrival 0
exit
!
router ospf6
 ospf6 router-id 10.255.0.1
exit
!
`);
  expect(configOf(lab, "r2")).not.toContain("ospf6");
});

test("a link of a router in area 0 and another is in the other's area; two other areas are an error", () => {
  const border = read(pair("{ospf: true}", "", ", routing: {ospf: {area: 0.0.0.7}}"));
  expect(configOf(border, "r1")).toMatch(/interface lo\n.*\n ip ospf area 0\nexit\n!\ninterface eth1\n.*\n ip ospf area 7\n/);
  expect(configOf(border, "r2")).toMatch(/interface lo\n.*\n ip ospf area 7\n/);
  expect(problems(pair("{ospf: {area: 1}}", "", ", routing: {ospf: {area: 2}}"))).toEqual([
    { code: "invalid_value", line: 7, message: "link r1:eth1 -- r2:eth1: r1 is in area 1 of OSPF, and r2 in area 2" },
  ]);
});

test("IS-IS has a NET of the router id, and reads it after its interval", () => {
  const config = configOf(read(pair("{isis: {area: 49.0002, level: 1-2}}", ", startup-config: {text: hostname core1}")), "r1");
  expect(config).toBe(`hostname core1
router isis 1
 is-type level-1-2
 metric-style wide
 lsp-gen-interval 1
exit
!
hostname core1
!
router isis 1
 net 49.0002.0102.5500.0001.00
exit
!
interface lo
 ip address 10.255.0.1/32
 ip router isis 1
 isis passive
exit
!
interface eth1
 ip address 10.0.0.0/31
 ip router isis 1
 isis network point-to-point
exit
!
interface eth2
 ip address 10.1.0.1/24
 ipv6 address fd00:1::1/64
 ip router isis 1
 ipv6 router isis 1
 isis network point-to-point
 isis passive
exit
!
`);
});

test("BGP has sessions with its neighbors, and announces the networks of the router", () => {
  const lab = read(pair("{bgp: true}", ", routing: {bgp: {as: 65001}}", ", routing: {bgp: {as: 65002}}"));
  const config = configOf(lab, "r1");
  expect(config.slice(config.indexOf("router bgp"))).toBe(`router bgp 65001
 bgp router-id 10.255.0.1
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor 10.0.0.1 remote-as 65002
 !
 address-family ipv4 unicast
  network 10.255.0.1/32
  network 10.0.0.0/31
  network 10.1.0.0/24
  neighbor 10.0.0.1 activate
 exit-address-family
 !
 address-family ipv6 unicast
  network fd00:1::/64
 exit-address-family
exit
!
`);
});

test("routers of one AS with OSPF have sessions of their loopbacks", () => {
  const config = configOf(read(pair("{ospf: true, bgp: {as: 65000}}")), "r2");
  expect(config).toContain(" neighbor 10.255.0.1 remote-as 65000\n neighbor 10.255.0.1 update-source lo\n");
  expect(config).toContain("  neighbor 10.255.0.1 activate\n  neighbor 10.255.0.1 next-hop-self\n");
  expect(config).not.toContain("neighbor 10.0.0.0");
});

test("an AS that is not written follows from the name, and is that of the node's own configuration if it has one", () => {
  const lab = read(pair("{bgp: true}", ', startup-config: {text: "router bgp 65009"}'));
  const as = /router bgp (42\d{8})\n/.exec(configOf(lab, "r2"))?.[1];
  expect(as).toBeDefined();
  expect(configOf(lab, "r1")).toContain(`router bgp 65009\n bgp router-id`);
  expect(configOf(lab, "r1")).toContain(`neighbor 10.0.0.1 remote-as ${as}`);
  expect(problems(pair("{bgp: {as: 65000}}", ', startup-config: {text: "router bgp 65009"}'))).toEqual([
    { code: "invalid_value", line: 2, message: 'node r1 has AS 65000 in routing, and "router bgp 65009" in its startup-config' },
  ]);
});

test("groups and nodes add protocols or take them back", () => {
  const lab = read(`name: x
addressing: true
routing: {ospf: true}
groups:
  edge: {routing: {bgp: {as: 65001}}}
nodes:
  r1: {template: frr, group: edge}
  r2: {template: frr, group: edge, routing: {ospf: false}}
  r3: {template: frr, routing: null}
  h1: {template: linux, group: edge}
`);
  expect(lab.nodes.map(({ startupConfig = "" }) => [...startupConfig.matchAll(/^router (\w+)/gm)].map(([, name]) => name))).toEqual([
    [],
    ["ospf", "bgp"],
    ["bgp"],
    [],
  ]);
  expect(
    readIntent("name: x\ngroups: {e: {routing: {ospf: true}}}\nnodes: {h: {template: pc, group: e}}\n").lab?.inherited,
  ).toBeUndefined();
});

test("routing without a loopback address, or of another template, is an error with the next step", () => {
  const yaml = "name: x\nnodes:\n  r1: {template: frr, routing: {ospf: true}}\n  h1: {template: linux, routing: {ospf: true}}\n";
  expect(problems(yaml)).toEqual([
    { code: "invalid_value", line: 4, message: "node h1 has the template linux: only frr nodes have routing" },
  ]);
  const { diagnostics } = readIntent("name: x\nrouting: {ospf: true}\nnodes:\n  r1: {template: frr}\n");
  expect(diagnostics).toMatchObject([
    { code: "missing_key", line: 2, hint: expect.stringContaining("addressing: {loopback: {ipv4: 10.255.0.0/16}}") },
  ]);
});

test("two routers with the same router id are an error", () => {
  expect(problems(pair("{ospf: true}").replace("10.255.0.2/32", "10.255.0.1/32"))).toEqual([
    { code: "address_conflict", line: 2, message: "nodes r1 and r2 have the same router id, 10.255.0.1" },
  ]);
});

test("the VLANs of a switch may have different areas, and the same addresses", () => {
  const lab = read(`name: x
routing: {ospf: true}
nodes:
  sw1: {template: switch, switching: {interfaces: {eth1: {vlan: 10}, eth2: {vlan: 10}, eth3: {vlan: 20}, eth4: {vlan: 20}}}}
  r1: {template: frr, addresses: {lo: 10.255.0.1/32, eth1: 10.0.0.1/24}, routing: {ospf: {area: 1}}}
  r2: {template: frr, addresses: {lo: 10.255.0.2/32, eth1: 10.0.0.2/24}, routing: {ospf: {area: 1}}}
  r3: {template: frr, addresses: {lo: 10.255.0.3/32, eth1: 10.0.0.1/24}, routing: {ospf: {area: 2}}}
  r4: {template: frr, addresses: {lo: 10.255.0.4/32, eth1: 10.0.0.2/24}, routing: {ospf: {area: 2}}}
links: ["sw1-r1", "sw1-r2", "sw1-r3", "sw1-r4"]
`);
  expect(configOf(lab, "r1")).toContain("interface eth1\n ip address 10.0.0.1/24\n ip ospf area 1\nexit\n");
  expect(configOf(lab, "r3")).toContain("interface eth1\n ip address 10.0.0.1/24\n ip ospf area 2\nexit\n");
});

test("a printed lab has the configurations, and an edit keeps routing", () => {
  const yaml = pair("{ospf: true}");
  const lab = read(yaml);
  expect(read(printLab(lab).yaml)).toEqual(lab);
  const nodes = lab.nodes.map((node) => (node.key === "r1" ? { ...node, ram: 256 } : node));
  expect(editIntent(yaml, {}, { ...lab, nodes }).yaml).toBe(yaml.replace('"fd00:1::1/64"]}}', '"fd00:1::1/64"]}, ram: 256}'));
  const other = lab.nodes.map((node) => (node.key === "r1" ? { ...node, startupConfig: "hostname r1\n" } : node));
  expect(() => editIntent(yaml, {}, { ...lab, nodes: other })).toThrow(
    /line 2: node r1: routing makes the part of its startup-config that would change/,
  );
});

test("lines that a router's saved configuration has in generated sections become sections of its own", () => {
  const yaml = pair("{ospf: true, bgp: {as: 65000}}");
  const lab = read(yaml);
  const saved = configOf(lab, "r2")
    .replace("interface eth1\n", "interface eth1\n ip ospf cost 77\n")
    .replace("  network 10.255.0.2/32\n", "  network 10.255.0.2/32\n  network 10.9.0.0/16\n");
  const config = `${saved}ip route 10.9.0.0/16 blackhole\n`;
  const nodes = lab.nodes.map((node) => (node.key === "r2" ? { ...node, startupConfig: config } : node));
  const after = read(editIntent(yaml, {}, { ...lab, nodes }).yaml);
  expect(configOf(after, "r2")).toBe(`${configOf(lab, "r2")}interface eth1
 ip ospf cost 77
exit
router bgp 65000
 address-family ipv4 unicast
  network 10.9.0.0/16
 exit-address-family
exit
ip route 10.9.0.0/16 blackhole
`);
  expect(configOf(after, "r1")).toBe(configOf(lab, "r1"));
});

test("a configuration that means what the generated and the own lines mean together changes nothing in the text", () => {
  const yaml = pair("{ospf: true}", "", ', startup-config: "interface eth1\\n ip ospf cost 33\\nexit\\n"');
  const lab = read(yaml);
  const text = configOf(lab, "r2");
  const merged = text
    .replace("interface eth1\n ip ospf cost 33\nexit\n", "")
    .replace("interface eth1\n", "interface eth1\n ip ospf cost 33\n");
  expect(merged).not.toBe(text);
  const nodes = lab.nodes.map((node) => (node.key === "r2" ? { ...node, startupConfig: merged } : node));
  expect(editIntent(yaml, {}, { ...lab, nodes }).yaml).toBe(yaml);
});

test("routers without a loopback address are one problem, which names at most five of them", () => {
  const of = (count: number) => `name: x\nrouting: {ospf: true}\nnodes:\n  r{1..${count}}: {template: frr}\nlinks: []\n`;
  const short = (count: number) => problems(of(count)).map(({ code, message }) => `${code} ${message}`);
  const which = "which becomes their router id";
  expect(short(2)).toEqual([`missing_key nodes r1, r2 need an IPv4 address of their loopback, ${which}`]);
  expect(short(7)).toEqual([`missing_key nodes r1, r2, r3, r4, r5 and 2 more need an IPv4 address of their loopback, ${which}`]);
});

test("a number in place of the settings of BGP is written as its AS in the hint", () => {
  expect(readIntent(pair("{bgp: 65000}")).diagnostics).toMatchObject([{ code: "wrong_type", hint: "write bgp: {as: 65000}" }]);
});

test("an own line that a router has saved with another value takes its place, and a generated line that is gone is refused", () => {
  const yaml = pair("{ospf: true}", "", ', startup-config: "interface eth1\\n ip ospf cost 33\\nexit\\n"');
  const lab = read(yaml);
  const edited = (change: (text: string) => string) =>
    editIntent(
      yaml,
      {},
      {
        ...lab,
        nodes: lab.nodes.map((node) => (node.key === "r2" ? { ...node, startupConfig: change(configOf(lab, "r2")) } : node)),
      },
    );
  const merged = (text: string) => text.replace(" ip ospf cost 33\n", "").replace("interface eth1\n", "interface eth1\n ip ospf cost 44\n");
  const after = configOf(read(edited(merged).yaml), "r2");
  expect(after).toContain("interface eth1\n ip ospf cost 44\nexit\n");
  expect(after).not.toContain("cost 33");
  expect(() => edited((text) => merged(text).replace(" ip ospf area 0\n", ""))).toThrow(/routing makes the part/);
});

test("a second address that a router has saved on an interface with an address of a pool keeps the first one, and the router id", () => {
  const yaml = "name: x\naddressing: true\nrouting: {ospf: true}\nnodes:\n  r{1..2}: {template: frr}\nlinks: [r1-r2]\n";
  const lab = read(yaml);
  const config = configOf(lab, "r1");
  const [, pooled] = /interface lo\n ip address (\S+)/.exec(config)!;
  for (const saved of [
    config.replace(`ip address ${pooled}\n`, `ip address ${pooled}\n ip address 10.99.6.6/32\n`),
    `${config}interface lo\n ip address 10.99.6.6/32\nexit\n`,
  ]) {
    const nodes = lab.nodes.map((node) => (node.key === "r1" ? { ...node, startupConfig: saved } : node));
    const text = editIntent(yaml, {}, { ...lab, nodes }).yaml;
    const after = read(text);
    expect(frrChange(saved, configOf(after, "r1"))).toEqual({ removed: [], added: [] });
    expect(configOf(after, "r1").match(/router-id \S+/)?.[0]).toBe(config.match(/router-id \S+/)?.[0]);
    expect(configOf(after, "r2")).toBe(configOf(lab, "r2"));
    // A second save changes nothing.
    expect(editIntent(text, {}, after).yaml).toBe(text);
  }
});
