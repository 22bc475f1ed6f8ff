/** Values that share() has marked as immutable. */
const shared = new WeakSet<object>();

/** Marks a value as immutable, so that it is serialized once for all callers. */
export function share<T extends object>(value: T): T {
  shared.add(value);
  return value;
}

export function isShared(value: unknown): value is object {
  return typeof value === "object" && value !== null && shared.has(value);
}
