import { expect, test } from "vitest";
import { ipv4Subnet, subnetText } from "../../../intent/addresses/ipv4.ts";
import { ipv6Subnet, subnet6Text } from "../../../intent/addresses/ipv6.ts";
import { assignAddresses, assignAddresses6, freeSubnet, ownSubnet6 } from "./addresses.ts";

const subnet = ipv4Subnet("10.0.0.0/29")!;
const nodes = (...ids: readonly (number | [number, string])[]) =>
  ids.map((one) => (typeof one === "number" ? { id: one, name: `n${one}` } : { id: one[0], name: `n${one[0]}`, mgmtIpv4: one[1] }));
const assigned = (given: ReturnType<typeof nodes>, before: Record<number, string> = {}) => {
  const found = assignAddresses(given, subnet, new Map(Object.entries(before).map(([id, address]) => [Number(id), address])));
  return "without" in found ? found.without : Object.fromEntries(found);
};

test("a node keeps its address while others come and go; a free one is used when the network is nearly full", () => {
  expect(assigned(nodes(1, 2))).toEqual({ 1: "10.0.0.2", 2: "10.0.0.3" });
  expect(assigned(nodes(2, 9), { 1: "10.0.0.2", 2: "10.0.0.3" })).toEqual({ 2: "10.0.0.3", 9: "10.0.0.2" });
  expect(assigned(nodes(1, 2, 9), { 2: "10.0.0.3", 9: "10.0.0.2" })).toEqual({ 1: "10.0.0.4", 2: "10.0.0.3", 9: "10.0.0.2" });
});

test("a declared address is its node's, and the node that had it gets another; addresses of another network are new", () => {
  expect(assigned(nodes(1, [2, "10.0.0.2"]), { 1: "10.0.0.2" })).toEqual({ 1: "10.0.0.3", 2: "10.0.0.2" });
  expect(assigned(nodes(1), { 1: "10.0.1.5" })).toEqual({ 1: "10.0.0.2" });
});

test("a network that is too small names the first node without an address", () => {
  expect(assigned(nodes(1, 2, 3, 4, 5, 6))).toBe("n6");
});

test("an IPv6 address has the number of the IPv4 address, unless another node declares it", () => {
  const ipv4 = { subnet, addresses: new Map([[1, "10.0.0.2"], [2, "10.0.0.6"], [3, "10.0.0.4"]]) }; // biome-ignore format: one line
  const given = [{ id: 1 }, { id: 2, mgmtIpv6: "fd00::2" }, { id: 3 }];
  const found = assignAddresses6(given, ipv6Subnet("fd00::/64")!, ipv4);
  expect(Object.fromEntries(found)).toEqual({ 1: "fd00::1:2", 2: "fd00::2", 3: "fd00::4" });
  expect(subnet6Text(ownSubnet6("a"))).toMatch(/^fd[\da-f]{2}:[\da-f:]+::\/64$/);
  expect(ownSubnet6("a")).not.toEqual(ownSubnet6("b"));
});

test("a lab gets the same network each time, one that nobody uses, with room for its nodes", () => {
  const first = freeSubnet("a", 10, [])!;
  expect(subnetText(first)).toMatch(/^198\.1[89]\.\d+\.0\/24$/);
  expect(freeSubnet("a", 10, [])).toEqual(first);
  const second = freeSubnet("a", 10, [first])!;
  expect(subnetText(second)).not.toBe(subnetText(first));
  expect(freeSubnet("a", 500, [])?.length).toBe(22);
  expect(freeSubnet("a", 100, [ipv4Subnet("198.18.0.0/16")!, ipv4Subnet("198.19.0.0/16")!])).toBeUndefined();
});
