import { type Ipv4Subnet, ipv4Text, nodeAddresses } from "../../../intent/addresses/ipv4.ts";

/**
 * Returns the nftables rules of a management network. The machine connects to nodes. A node only answers: it starts no connection to the machine, nothing of
 * it is forwarded, and it has no other address than those of the lab's nodes. Neither other labs nor other machines reach the nodes. The machine's neighbour
 * table gets at most one entry for each node. Existing rules are replaced in one step.
 */
export function managementRules(
  { device, table }: { readonly device: string; readonly table: string },
  subnet: Ipv4Subnet,
  addresses: readonly string[],
): string {
  const machine = ipv4Text(nodeAddresses(subnet).machine);
  // A set needs an element: then only the machine's own address, which no packet from the lab may have, is in it.
  const nodes = addresses.length === 0 ? machine : `{ ${[...addresses].sort().join(", ")} }`;
  return `table inet ${table}
delete table inet ${table}
table inet ${table} {
  chain input {
    type filter hook input priority filter; policy accept;
    iifname "${device}" meta nfproto ipv6 drop
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
    oifname "${device}" meta nfproto ipv6 drop
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
