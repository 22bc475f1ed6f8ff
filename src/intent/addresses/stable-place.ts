/**
 * Places of names in a pool. A place depends on nothing but the name and the size of the pool, so that no other name can move it. Names that differ only in the
 * number at their end have consecutive places, and so do the pairs of such names: as long as the pool is large enough, these never have the same place.
 */
export function placeOfName(name: string, size: bigint): bigint {
  const { family, number } = partsOf(name);
  return (BigInt(hash(family)) + number) % size;
}

/** The order of the names has no meaning. */
export function placeOfPair(one: string, other: string, size: bigint): bigint {
  const [a, b] = [partsOf(one), partsOf(other)].sort((x, y) =>
    x.family < y.family ? -1 : x.family > y.family ? 1 : x.number < y.number ? -1 : 1,
  );
  if (a === undefined || b === undefined || (a.family === b.family && a.number === b.number))
    return placeOfText([one, other].sort().join(" "), size);
  return (
    (BigInt(hash(`${a.family} ${b.family}`)) + (a.family === b.family ? triangle(a.number, b.number) : shell(a.number, b.number))) % size
  );
}

export function placeOfText(text: string, size: bigint): bigint {
  return BigInt(hash(text)) % size;
}

interface Parts {
  readonly family: string;
  readonly number: bigint;
}

function partsOf(name: string): Parts {
  const [, family = "", digits = "0"] = /^(.*?)(\d{1,9})?$/.exec(name) ?? [];
  return { family, number: BigInt(digits) };
}

/** Numbers the pairs of a < b: n names have n(n-1)/2 consecutive numbers. */
function triangle(a: bigint, b: bigint): bigint {
  return (b * (b - 1n)) / 2n + a;
}

/** Numbers all pairs, those with smaller numbers first (the pairing function of Rosenberg and Strong). */
function shell(a: bigint, b: bigint): bigint {
  const most = a > b ? a : b;
  return most * most + most + a - b;
}

/** FNV-1a with the last step of MurmurHash3, so that short names differ in all bits. Unsigned 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
