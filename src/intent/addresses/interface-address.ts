import { ipv4Number, ipv4Text } from "./ipv4.ts";
import { ipv6Number, ipv6Text } from "./ipv6.ts";

export const families = [4, 6] as const;
export type Family = (typeof families)[number];

/** An address with the length of its network's prefix, in bits. Of a network: its first address. */
export interface InterfaceAddress {
  readonly family: Family;
  readonly address: bigint;
  readonly length: number;
}

export const bitsOf: Readonly<Record<Family, number>> = { 4: 32, 6: 128 };

/** Returns the address of ADDRESS/LENGTH; undefined if the text is none. */
export function interfaceAddress(text: string): InterfaceAddress | undefined {
  const [, written = "", bits = ""] = /^([\da-fA-F.:]{2,39})\/(\d{1,3})$/.exec(text) ?? [];
  const length = Number(bits);
  const ipv4 = ipv4Number(written);
  if (ipv4 !== undefined) return length <= bitsOf[4] ? { family: 4, address: BigInt(ipv4), length } : undefined;
  const ipv6 = ipv6Number(written);
  return ipv6 === undefined || length > bitsOf[6] ? undefined : { family: 6, address: ipv6, length };
}

/** Returns the address without its prefix length. */
export function addressOnly({ family, address }: InterfaceAddress): string {
  return family === 4 ? ipv4Text(Number(address)) : ipv6Text(address);
}

export function addressText(address: InterfaceAddress): string {
  return `${addressOnly(address)}/${address.length}`;
}

export function networkOf({ family, address, length }: InterfaceAddress): InterfaceAddress {
  return { family, address: address - (address % sizeOf({ family, length })), length };
}

/** Returns the number of addresses of a network. */
export function sizeOf({ family, length }: Pick<InterfaceAddress, "family" | "length">): bigint {
  return 1n << BigInt(bitsOf[family] - length);
}

export function lastOf(network: InterfaceAddress): bigint {
  return network.address + sizeOf(network) - 1n;
}

export function overlaps(a: InterfaceAddress, b: InterfaceAddress): boolean {
  return a.family === b.family && a.address <= lastOf(b) && b.address <= lastOf(a);
}
