const collator = new Intl.Collator("en", { numeric: true });

/** Things in the order in which a person counts their names: r2 before r10. */
export function inNaturalOrder<T>(things: readonly T[], nameOf: (thing: T) => string): readonly T[] {
  return things.toSorted((a, b) => collator.compare(nameOf(a), nameOf(b)));
}
