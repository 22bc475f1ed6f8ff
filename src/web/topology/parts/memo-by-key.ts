/** Cache entries beyond this number are dropped, the least recently used first. */
const maxEntries = 20_000;

/** Returns a cache of one value per key. A value is computed again only if its inputs changed. */
export function memoByKey<T>(): (key: string, inputs: readonly unknown[], compute: () => T) => T {
  const entries = new Map<string, { readonly inputs: readonly unknown[]; readonly value: T }>();
  return (key, inputs, compute) => {
    const before = entries.get(key);
    const value = before?.inputs.every((input, at) => Object.is(input, inputs[at])) ? before.value : compute();
    // Deleted and set again, so that the map is in order of use.
    entries.delete(key);
    entries.set(key, { inputs, value });
    if (entries.size > maxEntries) entries.delete(entries.keys().next().value!);
    return value;
  };
}
