import { expect, test } from "vitest";
import { iosToFrr } from "./ios-to-frr.ts";

const names = new Map([
  ["Gi0/0", "eth0"],
  ["GigabitEthernet0/1", "eth1"],
]);

const ios = `!
version 15.6
hostname R1
banner motd ^C
 router ospf 9
^C
interface Loopback0
 ip address 1.1.1.1 255.255.255.255
interface GigabitEthernet0/0
 description to R2
 ip address 10.0.12.1 255.255.255.252
 ip ospf cost 10
 duplex auto
 ip nat outside
interface GigabitEthernet0/1
 ip address 192.168.1.1 255.255.255.0
 ip address 192.168.9.1 255.255.255.0 secondary
 shutdown
interface GigabitEthernet0/2
 no ip address
 shutdown
router ospf 1
 router-id 1.1.1.1
 passive-interface default
 no passive-interface GigabitEthernet0/0
 network 10.0.12.0 0.0.0.3 area 0
 network 192.168.0.0 0.0.255.255 area 1
 redistribute static subnets
 area 1 range 192.168.0.0 255.255.0.0
router bgp 65001
 bgp log-neighbor-changes
 neighbor 10.0.12.2 remote-as 65002
 neighbor 10.0.12.2 update-source Loopback0
 neighbor 10.0.12.2 route-map OUT out
 neighbor 2001:db8::2 remote-as 65002
 address-family ipv4
  network 192.168.1.0 mask 255.255.255.0
  neighbor 10.0.12.2 activate
  neighbor 10.0.12.2 next-hop-self
 exit-address-family
 address-family ipv6
  neighbor 2001:db8::2 activate
  network 2001:db8:1::/48
ip route 0.0.0.0 0.0.0.0 10.0.12.2 200 name default
ip route 172.16.0.0 255.240.0.0 Null0
ip route vrf RED 0.0.0.0 0.0.0.0 10.0.0.1
ip access-list extended ACL
 permit ip any any
end`;

test("interfaces, static routes, OSPF and BGP become FRR's, and every other command is listed with its line", () => {
  const { text, left } = iosToFrr(ios, names);
  expect(text.split("\n")).toEqual([
    "hostname R1",
    "ip route 0.0.0.0/0 10.0.12.2 200",
    "ip route 172.16.0.0/12 Null0",
    "interface lo",
    " ip address 1.1.1.1/32",
    "exit",
    "interface eth0",
    " description to R2",
    " ip address 10.0.12.1/30",
    " ip ospf cost 10",
    " ip ospf area 0",
    "exit",
    "interface eth1",
    " ip address 192.168.1.1/24",
    " ip address 192.168.9.1/24",
    " shutdown",
    " ip ospf area 1",
    " ip ospf passive",
    "exit",
    "router ospf",
    " router-id 1.1.1.1",
    " redistribute static",
    " area 1 range 192.168.0.0/16",
    "exit",
    "router bgp 65001",
    " no bgp ebgp-requires-policy",
    " neighbor 10.0.12.2 remote-as 65002",
    " neighbor 10.0.12.2 update-source lo",
    " neighbor 2001:db8::2 remote-as 65002",
    " address-family ipv4 unicast",
    "  network 192.168.1.0/24",
    "  neighbor 10.0.12.2 activate",
    "  neighbor 10.0.12.2 next-hop-self",
    " exit-address-family",
    " address-family ipv6 unicast",
    "  neighbor 2001:db8::2 activate",
    "  network 2001:db8:1::/48",
    " exit-address-family",
    "exit",
    "",
  ]);
  expect(left.map(({ text: command }) => command)).toEqual([
    "ip nat outside",
    "neighbor 10.0.12.2 route-map OUT out",
    "ip route vrf RED 0.0.0.0 0.0.0.0 10.0.0.1",
    "ip access-list extended ACL",
    "permit ip any any",
  ]);
  expect(left[0]?.line).toBe(ios.split("\n").indexOf(" ip nat outside") + 1);
});

test("EOS and NX-OS write prefixes and areas at interfaces, and containerlab calls the interfaces eth1, eth2 …", () => {
  const eos =
    "interface Ethernet1\n   no switchport\n   ip address 10.0.0.1/31\n   ip ospf area 0.0.0.0\nrouter ospf 1\nrouter bgp 65001\n   neighbor 10.0.0.0 remote-as 65000\n   network 10.1.0.0/24\n";
  expect(iosToFrr(eos, new Map([["eth1", "eth1"]])).text).toContain("interface eth1\n ip address 10.0.0.1/31\n ip ospf area 0.0.0.0\nexit");
  const nxos = "interface Ethernet1/2\n  ip address 10.0.0.1/31\n  ip router ospf UNDERLAY area 0.0.0.0\nrouter ospf UNDERLAY\n";
  expect(iosToFrr(nxos, new Map([["eth2", "eth2"]])).text).toContain(
    "interface eth2\n ip address 10.0.0.1/31\n ip ospf area 0.0.0.0\nexit",
  );
  const csr = "interface GigabitEthernet2\nip address 10.0.0.1 255.255.255.254\nno shutdown\n";
  expect(iosToFrr(csr, new Map([["eth1", "eth1"]])).text).toContain("interface eth1\n ip address 10.0.0.1/31");
});
