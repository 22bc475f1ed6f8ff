import { BlockList, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";

/** Networks without public hosts: private, local, documentation, benchmarks, multicast, reserved. */
const closed4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const;

/** Within 2000::/3: networks that contain IPv4 addresses (Teredo, 6to4), documentation, and those of protocols. */
const closed6 = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const;

const closed = new BlockList();
for (const [network, bits] of closed4) closed.addSubnet(network, bits, "ipv4");
for (const [network, bits] of closed6) closed.addSubnet(network, bits, "ipv6");
const global6 = new BlockList();
global6.addSubnet("2000::", 3, "ipv6");

/** Whether an address is public, and none of this machine's own. Addresses that contain an IPv4 address in IPv6 are not. */
export function isPublicAddress(address: string): boolean {
  if (ownAddresses().has(address)) return false;
  if (isIPv4(address)) return !closed.check(address, "ipv4");
  return global6.check(address, "ipv6") && !closed.check(address, "ipv6");
}

/** Read each time: addresses come and go. */
function ownAddresses(): ReadonlySet<string> {
  return new Set(Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []));
}
