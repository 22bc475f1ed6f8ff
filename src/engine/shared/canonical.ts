/** Returns JSON with sorted object keys and without undefined values: equal values give equal text. Lists keep their order. */
export function canonicalText(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  let text = "";
  if (Array.isArray(value)) {
    for (const one of value) text += text === "" ? canonicalText(one) : `,${canonicalText(one)}`;
    return `[${text}]`;
  }
  for (const key of sortedKeys(value)) {
    const one = (value as Record<string, unknown>)[key];
    if (one !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalText(one)}`;
  }
  return `{${text}}`;
}

/** Most objects already have sorted keys: checking is cheaper than sorting. */
function sortedKeys(value: object): readonly string[] {
  const keys = Object.keys(value);
  for (let at = 1; at < keys.length; at++) if (keys[at]! < keys[at - 1]!) return keys.sort();
  return keys;
}

/** Whether two plain values are equal, in any order of their keys. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  return canonicalText(a) === canonicalText(b);
}
