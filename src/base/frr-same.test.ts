import { expect, test } from "vitest";
import { sameFrr } from "./frr-same.ts";

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
