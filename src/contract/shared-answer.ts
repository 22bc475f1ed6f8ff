/** Parts of answers that many callers get, and that nobody changes any more. */
const shared = new WeakSet<object>();

/** From here on the value never changes: it may be put into words once for all who get it. */
export function share<T extends object>(value: T): T {
  shared.add(value);
  return value;
}

export function isShared(value: unknown): value is object {
  return typeof value === "object" && value !== null && shared.has(value);
}
