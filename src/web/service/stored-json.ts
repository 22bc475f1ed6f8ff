/** Reads a value of session storage. One that is damaged, or does not have the form that `isValid` checks, is removed: the page would fail until the tab is closed. */
export function storedJson<T>(key: string, isValid: (value: unknown) => value is T): T | undefined {
  const text = sessionStorage.getItem(key);
  if (text === null) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (isValid(value)) return value;
  } catch {
    // Damaged.
  }
  sessionStorage.removeItem(key);
  return undefined;
}

/** Returns whether a value is an object with fields. */
export function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
