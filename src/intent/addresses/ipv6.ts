/** An IPv6 network as numbers. */
export interface Ipv6Subnet {
  readonly network: bigint;
  /** Bits of the prefix. */
  readonly length: number;
}

const bits = 128;

/** Returns the address as a number; undefined if the text is none. An address with an IPv4 part is none here. */
export function ipv6Number(text: string): bigint | undefined {
  const halves = text.split("::");
  if (!/^[\da-f:]+$/i.test(text) || halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...Array.from({ length: missing }, () => "0"), ...tail];
  if (groups.some((group) => !/^[\da-f]{1,4}$/i.test(group))) return undefined;
  return groups.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

/** Returns the shortest notation, with the longest run of zeros as `::` (RFC 5952). */
export function ipv6Text(address: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) => ((address >> BigInt(112 - 16 * i)) & 65_535n).toString(16)).join(":");
  const runs = [...groups.matchAll(/\b0(?::0)+\b/g)].sort(([a], [b]) => b.length - a.length);
  const [longest] = runs;
  if (longest === undefined) return groups;
  const { 0: zeros, index } = longest;
  return `${groups.slice(0, index).replace(/:$/, "")}::${groups.slice(index + zeros.length).replace(/^:/, "")}`;
}

/** Returns the network of `ADDRESS/LENGTH`; undefined if the text is none, or has bits after its prefix. */
export function ipv6Network(text: string): Ipv6Subnet | undefined {
  const [, address = "", prefix = "128"] = /^([\da-fA-F:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const network = ipv6Number(address);
  const length = Number(prefix);
  if (network === undefined || length > bits) return undefined;
  return network % sizeOf(length) === 0n ? { network, length } : undefined;
}

/** Returns the network if a management network can have it: prefix length 64 to 96. */
export function ipv6Subnet(text: string): Ipv6Subnet | undefined {
  const found = ipv6Network(text);
  return found === undefined || found.length < 64 || found.length > 96 ? undefined : found;
}

export function subnet6Text({ network, length }: Ipv6Subnet): string {
  return `${ipv6Text(network)}/${length}`;
}

export function contains6({ network, length }: Ipv6Subnet, address: bigint): boolean {
  return address >= network && address < network + sizeOf(length);
}

export function overlap6(a: Ipv6Subnet, b: Ipv6Subnet): boolean {
  return contains6(a, b.network) || contains6(b, a.network);
}

function sizeOf(length: number): bigint {
  return 1n << BigInt(bits - length);
}
