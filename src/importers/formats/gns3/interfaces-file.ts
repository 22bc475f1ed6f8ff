/** Reads /etc/network/interfaces of a container: returns the commands that set its addresses and routes. Comments and other settings are left out. */
export function interfacesCommands(text: string): readonly string[] {
  const commands: string[] = [];
  let face:
    | { readonly name: string; readonly isStatic: boolean; address?: string; netmask?: string; gateway?: string; readonly up: string[] }
    | undefined;
  const finish = () => {
    if (face?.isStatic && face.address !== undefined)
      commands.push(`ip addr add ${withPrefix(face.address, face.netmask)} dev ${face.name}`);
    if (face?.gateway !== undefined) commands.push(`ip route add default via ${face.gateway}`);
    if (face !== undefined) commands.push(...face.up);
  };
  for (const line of text.split("\n")) {
    const [word = "", ...rest] = line.trim().split(/\s+/);
    const value = rest.join(" ");
    if (word === "iface") {
      finish();
      face = { name: rest[0] ?? "", isStatic: rest[2] === "static" && isName(rest[0] ?? ""), up: [] };
    } else if (face === undefined) continue;
    else if (word === "address" && isAddress(value)) face.address = value;
    else if (word === "netmask" && /^[\d.]+$/.test(value)) face.netmask = value;
    else if (word === "gateway" && isAddress(value)) face.gateway = value;
    else if (word === "up" || word === "post-up") face.up.push(value);
  }
  finish();
  return commands.filter((command) => command !== "").slice(0, 256);
}

function isName(name: string): boolean {
  return /^[A-Za-z0-9.-]{1,15}$/.test(name);
}

function isAddress(text: string): boolean {
  return /^[0-9A-Fa-f.:]+(\/\d{1,3})?$/.test(text);
}

function withPrefix(address: string, netmask = ""): string {
  if (address.includes("/")) return address;
  if (/^\d{1,3}$/.test(netmask)) return `${address}/${netmask}`;
  const parts = netmask.split(".").map(Number);
  if (parts.length !== 4) return address.includes(":") ? `${address}/64` : `${address}/24`;
  const bits = parts.reduce((sum, part) => sum + (part & 255).toString(2).replaceAll("0", "").length, 0);
  return `${address}/${bits}`;
}
