import { lookup } from "node:dns";
import { BlockList, isIP, isIPv6 } from "node:net";

/** How far an address reaches: special addresses are those of links, of clouds' metadata services, and of groups. */
export type Scope = "special" | "loopback" | "private" | "public";

const listOf = (nets: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const net of nets) {
    const [address = "", bits] = net.split("/");
    list.addSubnet(address, Number(bits), isIPv6(address) ? "ipv6" : "ipv4");
  }
  return list;
};

const loopback = listOf(["127.0.0.0/8", "::1/128"]);
const special = listOf(["0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3", "::/128", "fe80::/10", "ff00::/8", "fd00:ec2::/32", "64:ff9b::/96"]);
const inside = listOf(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15", "fc00::/7", "fec0::/10"]);

/** Returns the scope of an IP address. */
export function scopeOf(address: string): Scope {
  const plain = address.replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.)/i, "");
  const family = isIPv6(plain) ? "ipv6" : "ipv4";
  if (special.check(plain, family)) return "special";
  if (loopback.check(plain, family)) return "loopback";
  return inside.check(plain, family) ? "private" : "public";
}

const reach: Readonly<Record<Scope, number>> = { special: -1, loopback: 0, private: 1, public: 2 };

/**
 * Returns whether a registry at an address of this scope may send the service to another address: only outwards. Otherwise a registry could make the
 * service call the machine's own services, or those of its network.
 */
export function mayLeadTo(from: Scope, address: string): boolean {
  const to = scopeOf(address);
  return to !== "special" && reach[to] >= reach[from];
}

/** A name that resolves to no allowed address. */
export class AddressRefused extends Error {}

type Lookup = (
  hostname: string,
  options: object,
  callback: (error: Error | null, address: string | readonly { address: string; family: number }[], family?: number) => void,
) => void;

/** Returns a lookup for node:net that yields only allowed addresses. The addresses that it checks are the ones that are connected to. */
export function guardedLookup(isAllowed: (address: string) => boolean): Lookup {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, "");
      const allowed = found.filter(({ address }) => isAllowed(address));
      const [first] = allowed;
      if (first === undefined) return callback(new AddressRefused(`${hostname} has an address that the registry may not lead to`), "");
      if ((options as { readonly all?: boolean }).all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

/** Throws AddressRefused for a host that is an address and not allowed: it is not looked up. */
export function refuseAddress(hostname: string, isAllowed: (address: string) => boolean): void {
  const bare = hostname.replace(/^\[|\]$/g, "");
  if (isIP(bare) !== 0 && !isAllowed(bare)) throw new AddressRefused(`${bare} is an address that the registry may not lead to`);
}
