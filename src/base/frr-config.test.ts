import { expect, test } from "vitest";
import { additionCommands, frrChange, removalCommands, sameFrr } from "./frr-config.ts";

const before = `frr defaults traditional
hostname r1
interface eth1
 ip address 10.0.0.1/24
 ip ospf cost 10
!
router bgp 65000
 neighbor 10.0.0.2 remote-as 65001
 address-family ipv4 unicast
  network 10.9.0.0/16
 exit-address-family
!
router ospf
 network 10.0.0.0/8 area 0
ip route 10.8.0.0/16 blackhole
`;

const commands = (now: string, old = before) => {
  const { restart, ...change } = frrChange(old, now);
  return (
    restart ?? {
      remove: removalCommands(change).map((one) => one.join(" / ")),
      add: additionCommands(change.added).map((one) => one.join(" / ")),
    }
  );
};

test("a changed line is removed and added in its section, and only it", () => {
  expect(commands(before.replace("cost 10", "cost 20"))).toEqual({
    remove: ["interface eth1 / no ip ospf cost 10"],
    add: ["interface eth1 / ip ospf cost 20"],
  });
  expect(commands(before.replace("10.9.0.0/16", "10.7.0.0/16"))).toEqual({
    remove: ["router bgp 65000 / address-family ipv4 unicast / no network 10.9.0.0/16"],
    add: ["router bgp 65000 / address-family ipv4 unicast / network 10.7.0.0/16"],
  });
});

test("a removed section is removed as a whole, an interface line by line, and `no` lines are taken back", () => {
  expect(commands(before.replace(/router ospf\n.*\n/, "").replace(/interface[\s\S]*?!\n/, ""))).toEqual({
    remove: ["no router ospf", "interface eth1 / no ip ospf cost 10", "interface eth1 / no ip address 10.0.0.1/24"],
    add: [],
  });
  expect(commands("ip route 10.1.0.0/16 blackhole\n", "no ip forwarding\n")).toEqual({
    remove: ["ip forwarding"],
    add: ["ip route 10.1.0.0/16 blackhole"],
  });
});

test("the autonomous system of a neighbor is replaced, because removing it would remove the neighbor", () => {
  expect(commands(before.replace("65001", "65002"))).toEqual({ remove: [], add: ["router bgp 65000 / neighbor 10.0.0.2 remote-as 65002"] });
});

test("a section whose first word was mistyped is added under its right name, without a restart and without its lines in another section", () => {
  expect(commands(before, before.replace("router ospf", "ruoter ospf"))).toEqual({
    remove: ["no ruoter ospf"],
    add: ["router ospf", "router ospf / network 10.0.0.0/8 area 0"],
  });
});

test("lines that FRR adds when it saves are no change", () => {
  const saved = `frr version 8.4.4\n${before}service integrated-vtysh-config\nline vty\n!\nend\n`;
  expect(commands(before.replace("frr defaults traditional\nhostname r1\n", ""), saved)).toEqual({ remove: [], add: [] });
});

test("comments, ends of sections and indentation are no change", () => {
  expect(commands(before.replaceAll("\n!\n", "\nexit\n!\n# x\n").replace("  network", " network").replaceAll("\n ", "\n   "))).toEqual({
    remove: [],
    add: [],
  });
});

test.each([
  [before.replace("traditional", "datacenter"), /"frr …" only at its start/],
  [`${before}vrf blue\n vni 7\n`, /"vrf …" only at its start/],
  ["!\n", /default daemons/],
  [before.replace(" ip ospf", "ip ospf"), /not indented/],
  [before.replace("  network", "network"), /not indented/],
  [before.replace("router ospf", "ruoter ospf"), /"ruoter …" only at its start/],
])("a change that FRR takes only at its start, or whose section is not certain, needs a restart", (now, reason) => {
  expect(commands(now)).toMatch(reason);
});

const whole = `interface eth1
 ip address 10.0.0.1/31
 ip ospf cost 33
 ip ospf area 0
exit
!
router bgp 65000
 neighbor 10.0.0.0 remote-as 65001
 address-family ipv4 unicast
  network 10.1.0.0/16
  network 10.2.0.0/16
 exit-address-family
exit
ip route 10.8.0.0/16 blackhole
`;

const parts = `ip route 10.8.0.0/16 blackhole
interface eth1
 ip address 10.0.0.1/31
 ip ospf area 0
exit
router bgp 65000
 neighbor 10.0.0.0 remote-as 65001
 address-family ipv4 unicast
  network 10.2.0.0/16
 exit-address-family
exit
interface eth2
exit
interface eth1
 ip ospf cost 33
exit
router bgp 65000
 address-family ipv4 unicast
  network 10.1.0.0/16
 exit-address-family
exit
`;

test("a section in several parts means the same as the whole section", () => {
  expect(sameFrr(whole, parts)).toBe(true);
  expect(sameFrr(parts, whole)).toBe(true);
});

test("a line that is missing, or in another section, is a difference", () => {
  expect(sameFrr(whole, parts.replace("  network 10.1.0.0/16\n", ""))).toBe(false);
  expect(sameFrr(whole, parts.replace("interface eth1\n ip ospf cost", "interface eth2\n ip ospf cost"))).toBe(false);
  expect(sameFrr(whole, `${parts}router ospf\nexit\n`)).toBe(false);
});

test("the order of lines counts where FRR reads the last one, or all of them in their order", () => {
  const same = (...lines: string[]) => sameFrr(lines.join("\n"), lines.toReversed().join("\n"));
  const inside = (a: string, b: string) => sameFrr(`interface eth1\n ${a}\n ${b}\n`, `interface eth1\n ${b}\n ${a}\n`);
  expect(inside("ip ospf cost 10", "ip ospf cost 33")).toBe(false);
  expect(inside("ip address 10.0.0.1/24", "ip address 10.1.0.1/24")).toBe(false);
  expect(inside("no ip ospf passive", "ip ospf passive")).toBe(false);
  expect(inside("ip ospf cost 10", "description x")).toBe(true);
  expect(same("ip prefix-list A permit 10.0.0.0/8", "ip prefix-list A deny any")).toBe(false);
  expect(same("ip route 10.0.0.0/8 blackhole", "ip route 11.0.0.0/8 blackhole")).toBe(true);
});

test("texts whose sections are not certain are the same only if they are equal", () => {
  const mistyped = "ruoter ospf\n network 10.0.0.0/8 area 0\n";
  expect(sameFrr(mistyped, mistyped)).toBe(true);
  expect(sameFrr(mistyped, `!\n${mistyped}`)).toBe(false);
  expect(sameFrr(whole, `!\n${whole}`)).toBe(true);
  expect(sameFrr(whole, `! uplinks\n${whole}`)).toBe(false);
});
