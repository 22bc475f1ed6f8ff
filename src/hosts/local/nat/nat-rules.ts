import type { NatUplink } from "./nat.ts";

/** The names of the machine's ends of all uplinks begin so. */
export const devicePrefix = "lw-";

/** Of one nat network at a time, and as many that end at the machine itself. The smallest machines track 65,536. */
const mostConnections = 4_096;

/** Where labs may go through nat networks beside the rules that every machine has. Networks are IPv4, `10.0.0.0/8` or one address. */
export interface NatPolicy {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** What of the machine decides where its labs may go. */
export interface MachineNetworks {
  /** Networks that the machine is directly connected to. */
  readonly connected: readonly string[];
  /** Resolvers that labs are given. */
  readonly resolvers: readonly string[];
}

/**
 * From the lab, with an address of the network's own: out to the world as the policy says, echo requests to the machine, and nothing else – not the
 * machine's services, not other labs. Into the lab: answers only. Of the tables that the machine has for all, neighbours and connections, a network gets
 * a bounded part. Replaces the tables, if there are some, in one step.
 */
export function natRules({ prefix, device, table }: NatUplink, policy: NatPolicy, networks: MachineNetworks): string {
  return `table inet ${table}
delete table inet ${table}
table inet ${table} {
  chain input {
    type filter hook input priority filter; policy accept;
    iifname "${device}" ip saddr != ${prefix}.0/24 drop
    iifname "${device}" ct state new ct count over ${mostConnections} drop
    iifname "${device}" ct state established,related accept
    iifname "${device}" icmp type echo-request accept
    iifname "${device}" drop
  }
  chain forward {
    type filter hook forward priority filter; policy accept;
    iifname "${device}" ip saddr != ${prefix}.0/24 drop
    iifname "${device}" meta nfproto ipv6 drop
    iifname "${device}" oifname "${devicePrefix}*" drop
    iifname "${device}" ct state new ct count over ${mostConnections} drop
    iifname "${device}" jump destinations
    oifname "${device}" ct state established,related accept
    oifname "${device}" drop
  }
  chain destinations {
    ${destinationRules(policy, networks).join("\n    ")}
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${prefix}.0/24 oifname != "${device}" masquerade
  }
}
table arp ${table}
delete table arp ${table}
table arp ${table} {
  chain input {
    type filter hook input priority filter; policy accept;
    iifname "${device}" arp saddr ip != ${prefix}.0/24 drop
    iifname "${device}" arp daddr ip != ${prefix}.1 drop
  }
}
`;
}

/**
 * Refused unless the administrator allows it: addresses of the machine itself, of links (cloud machines give their credentials to whoever asks
 * 169.254.169.254), of private networks, and those that are no single machine of the internet.
 */
const refusedByDefault = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  // The metadata service and agent of Azure.
  "168.63.129.16",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.168.0.0/16",
  "224.0.0.0/3",
];

/**
 * The nftables statements for packets that leave a lab, first match decides. What the administrator says comes first, the narrower network before
 * the wider one, and of one network deny before allow; then questions to the resolvers; then what is refused on every machine.
 */
function destinationRules({ allow, deny }: NatPolicy, { connected, resolvers }: MachineNetworks): readonly string[] {
  const said = [...deny.map((network) => ({ network, verdict: refuse })), ...allow.map((network) => ({ network, verdict: "accept" }))].sort(
    (a, b) => bitsOf(b.network) - bitsOf(a.network),
  );
  return [
    ...said.map(({ network, verdict }) => `ip daddr ${network} ${verdict}`),
    ...resolvers.flatMap((address) => ["udp", "tcp"].map((protocol) => `ip daddr ${address} ${protocol} dport 53 accept`)),
    ...[...refusedByDefault, ...connected].map((network) => `ip daddr ${network} ${refuse}`),
  ];
}

const refuse = "reject with icmp admin-prohibited";

/** Of equals the sort keeps the order. */
function bitsOf(network: string): number {
  return Number(network.split("/")[1] ?? 32);
}

/** The networks in the output of `ip -4 route show table all scope link`, without those of uplinks. */
export function connectedNetworks(routes: string): readonly string[] {
  const found = [...routes.matchAll(/^(\d+\.\d+\.\d+\.\d+(?:\/\d+)?) dev (\S+)/gm)];
  return [...new Set(found.flatMap(([, network, device]) => (device!.startsWith(devicePrefix) ? [] : [network!])))].sort();
}
