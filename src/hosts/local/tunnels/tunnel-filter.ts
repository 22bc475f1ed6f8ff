import type { Tunnel } from "./tunnel.ts";

/** Returns the name of the nftables table of a lab's tunnels. */
export function tunnelTable(lab: string): string {
  return `labwright_${lab.replaceAll("-", "_")}_vxlan`;
}

/**
 * Returns the nftables rules of a lab's tunnels: the kernel itself takes packets with a tunnel's number from every machine. Packets of other numbers are not
 * judged. The search does not take longer with more tunnels. Existing rules of the lab are replaced in one step.
 */
export function tunnelFilter(lab: string, tunnels: readonly Tunnel[], local: string): string {
  const table = tunnelTable(lab);
  const remotes = [...new Set(tunnels.map(({ remote }) => remote))].sort();
  const chain = (remote: string) => `from_${remote.replaceAll(".", "_")}`;
  const ports = [...new Set(tunnels.map(({ port }) => port))].sort((a, b) => a - b);
  // The number of a tunnel is 24 bits of the VXLAN header, which follows the 8 bytes of UDP.
  const verdicts = (wanted: number) =>
    tunnels
      .filter(({ port }) => port === wanted)
      .map(({ vni, remote }) => `${vni} : goto ${chain(remote)}`)
      .join(", ");
  return `table inet ${table}
delete table inet ${table}
table inet ${table} {
${remotes.map((remote) => `  chain ${chain(remote)} { ip saddr ${remote} ip daddr ${local} return; drop; }`).join("\n")}
  chain input {
    type filter hook input priority -10; policy accept;
${ports.map((port) => `    udp dport ${port} @th,96,24 vmap { ${verdicts(port)} }`).join("\n")}
  }
}
`;
}
