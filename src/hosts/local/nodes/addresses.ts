import { isIP } from "node:net";

/**
 * Returns lines for `ip -batch` in the node's net namespace: addresses and default routes of a container, whose image may have no program to set
 * them.
 * @param addresses "eth0=10.0.0.2/24,2001:db8::2/64 eth1=10.0.1.2/24"
 * @param gateway "10.0.0.1", or one of each family
 * @throws Error that names the invalid part
 */
export function addressLines(addresses: string, gateway: string): string {
  const lines: string[] = [];
  for (const part of addresses.split(/\s+/).filter((one) => one !== "")) {
    const [, name, list] = /^([A-Za-z][A-Za-z0-9._-]{0,14})=(.+)$/.exec(part) ?? [];
    if (name === undefined || list === undefined) throw new Error(`addresses: ${part} is not of the form eth0=10.0.0.2/24`);
    lines.push(`link set dev ${name} up`);
    for (const address of list.split(",")) {
      const [ip = "", length = ""] = address.split("/", 2);
      const family = isIP(ip);
      if (family === 0 || ip.includes("%") || !/^\d{1,3}$/.test(length) || Number(length) > (family === 4 ? 32 : 128)) {
        throw new Error(`addresses: ${address} is not an address with a length, such as 10.0.0.2/24`);
      }
      lines.push(`address add ${ip}/${length} dev ${name}${family === 6 ? " nodad" : ""}`);
    }
  }
  for (const ip of gateway.split(/[\s,]+/).filter((one) => one !== "")) {
    const family = isIP(ip);
    if (family === 0 || ip.includes("%")) throw new Error(`gateway: ${ip} is not an address`);
    // A batch line allows no -4 or -6: the destination selects the family.
    lines.push(`route add ${family === 4 ? "0.0.0.0/0" : "::/0"} via ${ip}`);
  }
  return lines.map((line) => `${line}\n`).join("");
}
