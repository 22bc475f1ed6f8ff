import type { NatUplink } from "./nat.ts";

/** Prefix of the names of the machine's ends of all uplinks. */
export const devicePrefix = "lw-";

/** Limit for connections of one nat network at a time, and for those to the machine itself. The smallest machines track 65,536. */
const maxConnections = 4_096;

/** Destinations that labs may reach through nat networks, besides the rules that every machine has. IPv4 networks such as `10.0.0.0/8`, or addresses. */
export interface NatPolicy {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  /** Machines that take packets of this machine for those of tunnels: none of a nat network may look like one. */
  readonly tunnels?: readonly { readonly remotes: readonly string[]; readonly port: number }[];
}

/** The machine's networks that decide which destinations its labs may reach. */
export interface MachineNetworks {
  /** Networks that the machine is directly connected to. */
  readonly connected: readonly string[];
  /** DNS resolvers that labs get by DHCP. */
  readonly resolvers: readonly string[];
}

/** The protocols with ports, of which a service of the machine may have one. */
const withPorts = "tcp, udp, sctp, dccp, udplite";

/**
 * The ports of the machine from which connections of nodes come. If they kept their own, a node that sends from port 22 would get the connections of its peer to
 * port 22 of the machine. No service has one of these, and connections of the machine itself begin below, by default.
 */
const outerPorts = "61000-65535";

/**
 * Returns the nftables rules of a nat network. Packets from the lab must have an address of the network. They may leave to the destinations of the policy, and
 * send echo requests to the machine, but reach neither the machine's services nor other labs. Only answers enter the lab. The network gets a limited share of
 * the machine's neighbour and connection tables. Existing rules of the network are replaced in one step.
 */
export function natRules({ prefix, device, table }: NatUplink, policy: NatPolicy, networks: MachineNetworks): string {
  return `table inet ${table}
delete table inet ${table}
table inet ${table} {
  chain input {
    type filter hook input priority filter; policy accept;
    iifname "${device}" ip saddr != ${prefix}.0/24 drop
    iifname "${device}" ct state new ct count over ${maxConnections} drop
    iifname "${device}" ct state established,related accept
    iifname "${device}" icmp type echo-request accept
    iifname "${device}" drop
  }
  chain forward {
    type filter hook forward priority filter; policy accept;
    iifname "${device}" ip saddr != ${prefix}.0/24 drop
    iifname "${device}" meta nfproto ipv6 drop
    iifname "${device}" oifname "${devicePrefix}*" drop
    iifname "${device}" ct state new ct count over ${maxConnections} drop
    ${(policy.tunnels ?? []).map(({ remotes, port }) => `udp dport ${port} ip daddr { ${remotes.join(", ")} } iifname "${device}" drop`).join("\n    ")}
    iifname "${device}" jump destinations
    oifname "${device}" ct state established,related accept
    oifname "${device}" drop
  }
  chain destinations {
    ${destinationRules(policy, networks).join("\n    ")}
  }
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${prefix}.0/24 oifname != "${device}" meta l4proto { ${withPorts} } masquerade to :${outerPorts}
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
 * Destinations that are refused unless the administrator allows them: the machine itself, link-local addresses (169.254.169.254 serves the credentials of a
 * cloud machine), private networks, and multicast and reserved addresses.
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
 * Returns the nftables statements for packets that leave a lab; the first match decides. The administrator's rules come first, narrower networks before wider
 * ones, and deny before allow for the same network. Then come queries to the resolvers, and last the destinations that are refused on every machine.
 */
function destinationRules({ allow, deny }: NatPolicy, { connected, resolvers }: MachineNetworks): readonly string[] {
  const policyRules = [
    ...deny.map((network) => ({ network, verdict: refuse })),
    ...allow.map((network) => ({ network, verdict: "accept" })),
  ].sort((a, b) => bitsOf(b.network) - bitsOf(a.network));
  return [
    ...policyRules.map(({ network, verdict }) => `ip daddr ${network} ${verdict}`),
    ...resolvers.flatMap((address) => ["udp", "tcp"].map((protocol) => `ip daddr ${address} ${protocol} dport 53 accept`)),
    ...[...refusedByDefault, ...connected].map((network) => `ip daddr ${network} ${refuse}`),
  ];
}

const refuse = "reject with icmp admin-prohibited";

/** The sort is stable: rules for networks of one size keep their order. */
function bitsOf(network: string): number {
  return Number(network.split("/")[1] ?? 32);
}

/** Parses the output of `ip -4 route show table all scope link`. Returns the networks without those of uplinks. */
export function connectedNetworks(routes: string): readonly string[] {
  const found = [...routes.matchAll(/^(\d+\.\d+\.\d+\.\d+(?:\/\d+)?) dev (\S+)/gm)];
  return [...new Set(found.flatMap(([, network, device]) => (device!.startsWith(devicePrefix) ? [] : [network!])))].sort();
}
