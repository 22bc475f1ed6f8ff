import type { Tunnel } from "./tunnel.ts";

/** Returns the name of the nftables table of a lab's tunnels. */
export function tunnelTable(lab: string): string {
  return `labwright_${lab.replaceAll("-", "_")}_vxlan`;
}

/**
 * Returns the nftables rules of a lab's tunnels: the kernel itself takes packets with a tunnel's number from every machine. Packets of other numbers are not
 * judged. The search does not take longer with more tunnels. Existing rules of the lab are replaced in one step.
 */
export function tunnelFilter(lab: string, tunnels: readonly Tunnel[], localOf: (tunnel: Tunnel) => string): string {
  const table = tunnelTable(lab);
  const pathOf = (tunnel: Tunnel) => ({ remote: tunnel.remote, local: localOf(tunnel) });
  const chain = ({ remote, local }: ReturnType<typeof pathOf>) => `from_${remote}_to_${local}`.replaceAll(".", "_");
  const paths = [...new Map(tunnels.map(pathOf).map((path) => [chain(path), path])).values()].sort((a, b) =>
    chain(a) < chain(b) ? -1 : 1,
  );
  const ports = [...new Set(tunnels.map(({ port }) => port))].sort((a, b) => a - b);
  // The number of a tunnel is 24 bits of the VXLAN header, which follows the 8 bytes of UDP.
  const verdicts = (wanted: number) =>
    tunnels
      .filter(({ port }) => port === wanted)
      .map((tunnel) => `${tunnel.vni} : goto ${chain(pathOf(tunnel))}`)
      .join(", ");
  return `table inet ${table}
delete table inet ${table}
table inet ${table} {
${paths.map((path) => `  chain ${chain(path)} { ip saddr ${path.remote} ip daddr ${path.local} return; drop; }`).join("\n")}
  chain input {
    type filter hook input priority -10; policy accept;
${ports.map((port) => `    udp dport ${port} @th,96,24 vmap { ${verdicts(port)} }`).join("\n")}
  }
}
`;
}
