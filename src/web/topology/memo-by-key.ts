/** Makes a thing anew only when what it is made of has changed; what was not asked for in a while is let go. */
export function keepSame<T>(): (key: string, of: readonly unknown[], make: () => T) => T {
  const kept = new Map<string, { readonly of: readonly unknown[]; readonly thing: T }>();
  return (key, of, make) => {
    const before = kept.get(key);
    const thing = before?.of.every((one, at) => Object.is(one, of[at])) ? before.thing : make();
    // In the order of asking, so that what is gone from the picture is first to go here.
    kept.delete(key);
    kept.set(key, { of, thing });
    if (kept.size > 20_000) kept.delete(kept.keys().next().value!);
    return thing;
  };
}
