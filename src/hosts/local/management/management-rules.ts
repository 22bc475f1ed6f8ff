import { type Ipv4Subnet, ipv4Text, nodeAddresses } from "../../../intent/addresses/ipv4.ts";
import { type Ipv6Subnet, ipv6Text } from "../../../intent/addresses/ipv6.ts";

/** The addresses of a management network. */
export interface ManagementAddresses<Subnet> {
  readonly subnet: Subnet;
  /** Node id → address. */
  readonly addresses: ReadonlyMap<number, string>;
}

/** Returns the machine's address in the IPv6 network. */
export function machineAddress6({ network }: Ipv6Subnet): string {
  return ipv6Text(network + 1n);
}

/**
 * Returns the nftables rules of a management network. The machine connects to nodes. A node only answers: it starts no connection to the machine, nothing of
 * it is forwarded, and it has no other address than those of the lab's nodes. Neither other labs nor other machines reach the nodes. The machine's neighbour
 * table gets at most one entry for each address. Existing rules are replaced in one step.
 */
export function managementRules(
  { device, table }: { readonly device: string; readonly table: string },
  ipv4: ManagementAddresses<Ipv4Subnet>,
  ipv6: ManagementAddresses<Ipv6Subnet> | undefined,
): string {
  const machine = ipv4Text(nodeAddresses(ipv4.subnet).machine);
  const nodes = setOf(ipv4.addresses, machine);
  const family6 = ipv6 === undefined ? undefined : rules6(device, ipv6);
  return `table inet ${table}
delete table inet ${table}
table inet ${table} {
  chain input {
    type filter hook input priority filter; policy accept;
    ${family6?.input ?? `iifname "${device}" meta nfproto ipv6 drop`}
    iifname "${device}" ip saddr != ${nodes} drop
    iifname "${device}" ip daddr != ${machine} drop
    iifname "${device}" icmp type redirect drop
    iifname "${device}" ct state established,related accept
    iifname "${device}" drop
  }
  chain forward {
    type filter hook forward priority filter; policy accept;
    iifname "${device}" drop
    oifname "${device}" drop
  }
  chain output {
    type filter hook output priority filter; policy accept;
    ${family6?.output ?? `oifname "${device}" meta nfproto ipv6 drop`}
    oifname "${device}" ip daddr != ${nodes} drop
  }
}
table arp ${table}
delete table arp ${table}
table arp ${table} {
  chain input {
    type filter hook input priority filter; policy accept;
    iifname "${device}" arp saddr ip != ${nodes} drop
    iifname "${device}" arp daddr ip != ${machine} drop
  }
}
`;
}

/** Neighbour discovery is as ARP: only between the nodes' addresses and the machine's. */
function rules6(
  device: string,
  { subnet, addresses }: ManagementAddresses<Ipv6Subnet>,
): { readonly input: string; readonly output: string } {
  const machine = machineAddress6(subnet);
  const nodes = setOf(addresses, machine);
  const discovery = "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept";
  return {
    input: `iifname "${device}" ip6 saddr != ${nodes} drop
    iifname "${device}" ${discovery}
    iifname "${device}" ip6 daddr != ${machine} drop
    iifname "${device}" icmpv6 type nd-redirect drop`,
    output: `oifname "${device}" icmpv6 type nd-neighbor-solicit accept
    oifname "${device}" ip6 daddr != ${nodes} drop`,
  };
}

/** A set needs an element: without nodes, only the machine's own address, which no packet from the lab may have, is in it. */
function setOf(addresses: ReadonlyMap<number, string>, machine: string): string {
  return addresses.size === 0 ? machine : `{ ${[...addresses.values()].sort().join(", ")} }`;
}
