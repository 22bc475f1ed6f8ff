import { ipv4Number, ipv4Text } from "../../intent/addresses/ipv4.ts";

/** Returns the prefix length of a mask such as 255.255.255.0, or of a wildcard mask. */
export function maskLength(mask: string, isWildcard = false): number | undefined {
  const number = ipv4Number(mask);
  if (number === undefined) return undefined;
  const bits = (isWildcard ? ~number >>> 0 : number).toString(2).padStart(32, "0");
  return /^1*0*$/.test(bits) ? bits.lastIndexOf("1") + 1 : undefined;
}

/** Returns "10.0.0.0/24" of an address and a mask, or of a prefix; the address as it is written. */
export function prefixOf(address: string, mask: string | undefined, isWildcard = false): string | undefined {
  const [host = "", length] = address.split("/");
  if (ipv4Number(host) === undefined) return undefined;
  if (length !== undefined) return /^\d{1,2}$/.test(length) && Number(length) <= 32 ? address : undefined;
  const found = mask === undefined ? undefined : maskLength(mask, isWildcard);
  return found === undefined ? undefined : `${host}/${found}`;
}

/** Returns the prefix with its network's address. */
export function networkOf(prefix: string): string {
  const [address = "", length = "32"] = prefix.split("/");
  return `${ipv4Text(((ipv4Number(address) ?? 0) & maskOf(Number(length))) >>> 0)}/${length}`;
}

/** Whether a network contains an address. */
export function contains(network: string, address: string): boolean {
  const [base = "", length = "32"] = network.split("/");
  const [a, b] = [ipv4Number(base), ipv4Number(address.split("/")[0] ?? "")];
  if (a === undefined || b === undefined) return false;
  const mask = maskOf(Number(length));
  return (a & mask) === (b & mask);
}

function maskOf(length: number): number {
  return length === 0 ? 0 : (-1 << (32 - length)) >>> 0;
}

/** The prefix that a classful network has. */
export function classful(address: string): string | undefined {
  const number = ipv4Number(address);
  if (number === undefined) return undefined;
  const first = number >>> 24;
  return `${address}/${first < 128 ? 8 : first < 192 ? 16 : 24}`;
}
