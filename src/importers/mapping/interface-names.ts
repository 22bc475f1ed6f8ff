import { compareNatural } from "../../base/natural-order.ts";

/** An interface as the source names it. */
export interface SourceInterface {
  readonly name: string;
  /** Its number in the source, if the source counts interfaces from 0. */
  readonly index?: number;
}

/**
 * Chooses names eth0, eth1 … for the interfaces of a node, in this order: the own name if it is one of these; the last number of the name, if no two names
 * have the same; the number in the source; a free number in natural order, from `first`. The result depends on the set of interfaces, not on their order.
 */
export function ethNames(interfaces: readonly SourceInterface[], max: number, first = 1): ReadonlyMap<string, string> {
  const sorted = [...new Map(interfaces.map((each) => [each.name, each])).values()].toSorted((a, b) => compareNatural(a.name, b.name));
  const isFree = (numbers: readonly (number | undefined)[]) =>
    new Set(numbers).size === numbers.length && numbers.every((number) => number !== undefined && number < max);
  const own = sorted.map(({ name }) => ownNumber(name));
  const rules = [own, sorted.map(({ name }) => lastNumber(name)), sorted.map(({ index }) => index)];
  const whole = rules.find(isFree);
  if (whole !== undefined) return new Map(sorted.map(({ name }, at) => [name, `eth${whole[at]}`]));
  const taken = new Set<number>();
  const names = new Map<string, string>();
  for (const [at, { name }] of sorted.entries()) {
    const number = own[at];
    if (number === undefined || number >= max || taken.has(number)) continue;
    taken.add(number);
    names.set(name, `eth${number}`);
  }
  let next = first;
  for (const { name } of sorted) {
    if (names.has(name)) continue;
    while (taken.has(next)) next++;
    taken.add(next);
    names.set(name, `eth${next}`);
  }
  return names;
}

function ownNumber(name: string): number | undefined {
  const digits = /^eth(0|[1-9]\d{0,3})$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function lastNumber(name: string): number | undefined {
  const digits = /(\d{1,4})$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
