// Made by need: it takes longer than some commands.
let collator: Intl.Collator | undefined;

/** Things in the order in which a person counts their names: r2 before r10. */
export function inNaturalOrder<T>(things: readonly T[], nameOf: (thing: T) => string): readonly T[] {
  collator ??= new Intl.Collator("en", { numeric: true });
  const { compare } = collator;
  return things.toSorted((a, b) => compare(nameOf(a), nameOf(b)));
}
