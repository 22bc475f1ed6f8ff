/** An IPv4 network as numbers. */
export interface Ipv4Subnet {
  readonly network: number;
  /** Bits of the prefix. */
  readonly length: number;
}

const longest = 29;
const shortest = 16;

/** Returns the network of `ADDRESS/LENGTH`, or of a single address; undefined if the text is none, or has bits after its prefix. */
export function ipv4Network(text: string): Ipv4Subnet | undefined {
  const [, address = "", bits = "32"] = /^([\d.]+)(?:\/(\d{1,2}))?$/.exec(text) ?? [];
  const network = ipv4Number(address);
  const length = Number(bits);
  if (network === undefined || length > 32) return undefined;
  return network % sizeOf(length) === 0 ? { network, length } : undefined;
}

/** Returns the network if a management network can have it: one of 16 to 29 bits. */
export function ipv4Subnet(text: string): Ipv4Subnet | undefined {
  const found = ipv4Network(text);
  return found === undefined || found.length < shortest || found.length > longest ? undefined : found;
}

/** Returns the address as a number; undefined if the text is none. */
export function ipv4Number(text: string): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255)) return undefined;
  return parts.reduce((sum, part) => sum * 256 + part, 0);
}

/** Returns whether another machine can have the address: it is not a broadcast, multicast, loopback or unspecified address. */
export function isMachineAddress(address: number): boolean {
  const first = Math.floor(address / 2 ** 24);
  return first !== 0 && first !== 127 && first < 224;
}

export function ipv4Text(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
}

export function subnetText({ network, length }: Ipv4Subnet): string {
  return `${ipv4Text(network)}/${length}`;
}

/** Returns the address of the machine, and the first and the last address of nodes. */
export function nodeAddresses({ network, length }: Ipv4Subnet): {
  readonly machine: number;
  readonly first: number;
  readonly last: number;
} {
  return { machine: network + 1, first: network + 2, last: network + sizeOf(length) - 2 };
}

export function overlap(a: Ipv4Subnet, b: Ipv4Subnet): boolean {
  return a.network < b.network + sizeOf(b.length) && b.network < a.network + sizeOf(a.length);
}

function sizeOf(length: number): number {
  return 2 ** (32 - length);
}
