import type { Part } from "../../tree/part.ts";

/** Returns the value below several keys. netlab also writes "ospf.area" for the key area of ospf. */
export function deep(part: Part | undefined, ...keys: readonly string[]): Part | undefined {
  if (part === undefined || keys.length === 0) return part;
  for (let count = keys.length; count > 0; count--) {
    const found = part.get(keys.slice(0, count).join("."));
    const value = found && deep(found, ...keys.slice(count));
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Returns the first of several values that is there. */
export function firstOf(parts: readonly (Part | undefined)[]): Part | undefined {
  return parts.find((part) => part !== undefined && !part.isNull);
}
