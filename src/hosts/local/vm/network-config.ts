import { managementInterface } from "../../../intent/lab/lab.ts";
import { macAddress, managementIndex } from "../definitions/mac-address.ts";

/**
 * Returns the network configuration of cloud-init (version 2) for a node in a management network. The guest asks its supervisor for the IPv4 address, which
 * may change while it runs. cloud-init would configure the first interface by DHCP without this file, and still does.
 * @param addresses of the node, with their prefixes
 */
export function networkConfig(lab: string, node: number, addresses: readonly string[]): string {
  const ipv6 = addresses.filter((address) => address.includes(":"));
  return [
    "version: 2",
    "ethernets:",
    `  ${managementInterface}:`,
    `    match: {macaddress: "${macAddress(lab, node, managementIndex)}"}`,
    `    set-name: ${managementInterface}`,
    "    dhcp4: true",
    ...(ipv6.length === 0 ? [] : [`    addresses: [${ipv6.map((address) => `"${address}"`).join(", ")}]`]),
    "  eth0:",
    `    match: {macaddress: "${macAddress(lab, node, 0)}"}`,
    "    dhcp4: true",
    "    optional: true",
    "",
  ].join("\n");
}
