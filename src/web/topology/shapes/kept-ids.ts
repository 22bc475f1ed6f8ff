/** A value with the id that it keeps while it is changed. */
export interface Named<T> {
  /** A prefix and a number. */
  readonly id: string;
  readonly value: T;
}

/**
 * Returns values with their ids. A value that is equal to one of before has its id. So has one that is like one of before that is not there any more; a
 * new value has a new id.
 * @param likeness tests of whether a value became the other one, the strictest first
 */
export function keptIds<T>(
  prefix: string,
  before: readonly Named<T>[],
  values: readonly T[],
  likeness: readonly ((before: T, after: T) => boolean)[],
): readonly Named<T>[] {
  const free = new Map<string, Named<T>[]>();
  for (const one of before) free.set(JSON.stringify(one.value), [...(free.get(JSON.stringify(one.value)) ?? []), one]);
  const ids: (string | undefined)[] = values.map((value) => free.get(JSON.stringify(value))?.shift()?.id);
  const taken = new Set(ids);
  const left = before.filter(({ id }) => !taken.has(id));
  for (const isLike of likeness) {
    for (const [index, value] of values.entries()) {
      const at = ids[index] === undefined ? left.findIndex((one) => isLike(one.value, value)) : -1;
      if (at !== -1) ids[index] = left.splice(at, 1)[0]!.id;
    }
  }
  let last = Math.max(0, ...before.map(({ id }) => Number(id.slice(prefix.length))));
  return values.map((value, index) => ({ id: ids[index] ?? `${prefix}${++last}`, value }));
}
