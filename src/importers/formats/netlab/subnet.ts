/** A network of IPv4 or IPv6 as a number, for the allocation of addresses. */
export class Subnet {
  readonly address: bigint;
  /** Length of the prefix. */
  readonly length: number;
  /** Bits of an address. */
  readonly bits: 32 | 128;

  constructor(address: bigint, length: number, bits: 32 | 128) {
    this.address = address;
    this.length = length;
    this.bits = bits;
  }

  /** Parses "10.0.0.0/24"; bits behind the prefix become 0. A text without a length is one address. */
  static parse(text: string): Subnet | undefined {
    const parsed = parseAddress(text);
    if (parsed === undefined) return undefined;
    const { address, length, bits } = parsed;
    const free = BigInt(bits - length);
    return new Subnet((address >> free) << free, length, bits);
  }

  /** Returns the nth network of a longer prefix; undefined: there are not so many. */
  child(length: number, number: bigint): Subnet | undefined {
    const size = BigInt(this.bits - length);
    if (number < 0n || number >= 1n << BigInt(length - this.length)) return undefined;
    return new Subnet(this.address + (number << size), length, this.bits);
  }

  /** Returns the nth address with the length of the prefix; undefined: there are not so many. */
  host(number: bigint): string | undefined {
    const size = BigInt(this.bits - this.length);
    if (number < 0n || number >= 1n << size) return undefined;
    return `${addressText(this.address + number, this.bits)}/${this.length}`;
  }

  get text(): string {
    return `${addressText(this.address, this.bits)}/${this.length}`;
  }
}

/** Parses an address with or without the length of its prefix. */
export function parseAddress(
  text: string,
): { readonly address: bigint; readonly length: number; readonly bits: 32 | 128; readonly hasLength: boolean } | undefined {
  const [, plain = "", suffix] = /^\s*([0-9A-Fa-f:.]{2,45})(?:\/(\d{1,3}))?\s*$/.exec(text) ?? [];
  const bits = plain.includes(":") ? 128 : 32;
  const address = bits === 32 ? parseIpv4(plain) : parseIpv6(plain);
  const length = suffix === undefined ? bits : Number(suffix);
  if (address === undefined || length > bits) return undefined;
  return { address, length, bits, hasLength: suffix !== undefined };
}

function parseIpv4(text: string): bigint | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255)) return undefined;
  return parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

function parseIpv6(text: string): bigint | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [left = [], right = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const missing = 8 - left.length - right.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...left, ...Array.from({ length: missing }, () => "0"), ...right];
  if (!groups.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return undefined;
  return groups.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

export function addressText(address: bigint, bits: 32 | 128): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((shift) => String((address >> shift) & 255n)).join(".");
  const groups = Array.from({ length: 8 }, (_, index) => Number((address >> BigInt(112 - 16 * index)) & 0xffffn).toString(16));
  const text = groups.join(":");
  const zeros = [...text.matchAll(/(?:^|:)0(?::0)+(?:$|:)/g)].map(([match]) => match).sort((a, b) => b.length - a.length)[0];
  return zeros === undefined ? text : text.replace(zeros, "::");
}
