/** JSON with object keys in code-unit order and undefined left out: equal values give equal text. Lists keep their order. */
export function canonicalText(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  const parts: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const one = (value as Record<string, unknown>)[key];
    if (one !== undefined) parts.push(`${JSON.stringify(key)}:${canonicalText(one)}`);
  }
  return `{${parts.join(",")}}`;
}

/** Whether two plain values are the same, whatever the order of their keys. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  return canonicalText(a) === canonicalText(b);
}
