import { expect, test } from "vitest";
import { mergeFrr, shownOf } from "./frr-merge.ts";

const own = `! border router, by hand
interface eth1
 ! to r2
 ip address 10.0.0.1/24
 no shutdown
!
router ospf
 router-id 1.1.1.1
 network 10.0.0.1/24 area 0
 passive-interface lo
!
router bgp 65000
 neighbor 10.0.0.2 remote-as 65001
 neighbor 10.0.0.2 activate
 redistribute connected
 address-family ipv6 unicast
  network 2001:db8::/32
 exit-address-family
ip prefix-list P permit 10.0.0.0/8
# static
ip route 10.9.0.0/16 blackhole
`;

/** The same as FRR shows it. */
const running = `frr version 8.4.4
frr defaults traditional
hostname r1
service integrated-vtysh-config
!
ip route 10.9.0.0/16 blackhole
!
interface eth0
exit
!
interface eth1
 ip address 10.0.0.1/24
exit
!
interface lo
 ip ospf passive
exit
!
router bgp 65000
 neighbor 10.0.0.2 remote-as 65001
 !
 address-family ipv4 unicast
  redistribute connected
 exit-address-family
 !
 address-family ipv6 unicast
  network 2001:db8::/32
 exit-address-family
exit
!
router ospf
 ospf router-id 1.1.1.1
 network 10.0.0.0/24 area 0
exit
!
ip prefix-list P seq 5 permit 10.0.0.0/8
!
end
`;

/** The lines that the merge removes and adds, in their order in the text. */
function changed(now: string, before = own): readonly string[] {
  const after = mergeFrr(before, now, "r1");
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  const kept = (lines: readonly string[], others: readonly string[]) =>
    lines.filter((line) => others.includes(line) && !/!|exit/.test(line));
  expect(kept(fresh, old)).toEqual(kept(old, fresh));
  return [
    ...old.filter((line) => !fresh.includes(line)).map((line) => `-${line}`),
    ...fresh.filter((line) => !old.includes(line)).map((line) => `+${line}`),
  ];
}

test("a configuration that FRR shows in its own words is not changed", () => {
  expect(mergeFrr(own, running, "r1")).toBe(own);
  expect(mergeFrr(running, running, "r1")).toBe(running);
  const windows = own.replaceAll("\n", "\r\n");
  expect(mergeFrr(windows, running, "r1")).toBe(windows);
});

test.each([
  ["a new line", [" ip address 10.0.0.1/24\n", " ip address 10.0.0.1/24\n ip ospf cost 7\n"], ["+ ip ospf cost 7"]],
  ["a changed line", ["10.0.0.0/24 area 0", "10.0.0.0/24 area 5"], ["- network 10.0.0.1/24 area 0", "+ network 10.0.0.0/24 area 5"]],
  ["a removed line", ["ip route 10.9.0.0/16 blackhole\n", ""], ["-ip route 10.9.0.0/16 blackhole"]],
  [
    "a line of the implicit address family",
    ["  redistribute connected\n", "  network 10.7.0.0/16\n  redistribute connected\n"],
    ["+ network 10.7.0.0/16"],
  ],
  [
    "a line of an address family",
    ["  network 2001:db8::/32\n", "  network 2001:db8::/32\n  network 2001:db9::/32\n"],
    ["+  network 2001:db9::/32"],
  ],
  [
    "a new section",
    ["router ospf\n", "router isis X\n net 49.0001.0000.0000.0001.00\nexit\n!\nrouter ospf\n"],
    ["+router isis X", "+ net 49.0001.0000.0000.0001.00"],
  ],
  [
    "a new address family",
    [
      " address-family ipv6 unicast\n",
      " address-family l2vpn evpn\n  advertise-all-vni\n exit-address-family\n !\n address-family ipv6 unicast\n",
    ],
    ["+ address-family l2vpn evpn", "+  advertise-all-vni"],
  ],
  ["a hostname that was typed", ["hostname r1", "hostname r9"], ["+hostname r9"]],
] as const)("%s changes only its own lines", (_, [from, to], lines) => {
  expect(running).toContain(from);
  expect(changed(running.replace(from, to))).toEqual(lines);
});

test("lines for a daemon that does not run stay, although FRR does not show them", () => {
  const idle = own.replace(" no shutdown\n", " no shutdown\n ip router isis X\n");
  expect(mergeFrr(idle, running, "r1")).toBe(idle);
});

test("a section with a typing error stays, because FRR has never taken it", () => {
  const mistyped = `${own}ruoter ospf\n network 10.1.0.0/16 area 0\n`;
  expect(mergeFrr(mistyped, running, "r1")).toBe(mistyped);
});

test("a removed section goes with its comments and its end, and the sections around it stay", () => {
  const now = running.replace(/router bgp[\s\S]*?\nexit\n!\n/, "");
  expect(mergeFrr(own, now, "r1")).toBe(own.replace(/router bgp[\s\S]*?exit-address-family\n/, ""));
});

test("lines that FRR has never shown stay, and its own words for them are no change, if it is known what it showed first", () => {
  const defaults = own
    .replace("router bgp 65000\n", "router bgp 65000\n no bgp ebgp-requires-policy\n")
    .replace(" network 10", " spf-form 1\n network 10");
  const first = running.replace(" ospf router-id", " timers throttle spf 1\n ospf router-id");
  expect(mergeFrr(defaults, first, "r1", first)).toBe(defaults);
  const typed = first.replace("router ospf\n", "router ospf\n area 1 stub\n").replace("ip route 10.9.0.0/16 blackhole\n", "");
  const merged = mergeFrr(defaults, typed, "r1", first);
  expect(merged).toBe(defaults.replace("router ospf\n", "router ospf\n area 1 stub\n").replace("ip route 10.9.0.0/16 blackhole\n", ""));
  // A removed line that the text has in other words: the text gets FRR's.
  expect(mergeFrr(defaults, running, "r1", first)).not.toContain("spf-form 1");
});

test("after a live change, the first configuration has the changed lines, but none that somebody typed", () => {
  const before = running.replace("router ospf\n", "router ospf\n area 9 stub\n");
  const last = before.replace("router ospf\n", "router ospf\n area 1 stub\n");
  const changed = own.replace("router ospf\n", "router ospf\n area 1 stub\n");
  const first = shownOf(changed, running, before, last);
  expect(first).toContain("area 1 stub");
  expect(first).not.toContain("area 9 stub");
  expect(mergeFrr(changed, last, "r1", first)).toBe(changed.replace(" area 1 stub\n", " area 1 stub\n area 9 stub\n"));
});

test("new lines go behind the line that FRR shows before them, and keep the indentation of the text", () => {
  const wide = own.replaceAll(/\n {1}(?! )/g, "\n   ");
  expect(mergeFrr(wide, running.replace(" ip address 10.0.0.1/24\n", " ip address 10.0.0.1/24\n ip ospf cost 7\n"), "r1")).toContain(
    "   ip address 10.0.0.1/24\n   ip ospf cost 7\n   no shutdown\n",
  );
});

test("a text whose sections are not certain is replaced by what FRR shows", () => {
  expect(mergeFrr(own.replaceAll("\n ", "\n"), running, "r1")).toBe(running);
  expect(mergeFrr("! nothing\n", running, "r1")).toBe(running);
});
