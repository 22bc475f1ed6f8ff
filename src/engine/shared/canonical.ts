/** Returns JSON with sorted object keys and without undefined values: equal values give equal text. Lists keep their order. */
export function canonicalText(value: unknown): string {
  return written(value, (text) => JSON.stringify(text));
}

/** Minimum characters of a text that digestText() writes once. */
const minShared = 1024;

/**
 * Like canonicalText(), but each long text is written only once, however often the value contains it. Not JSON: only for digests and comparisons. Equal
 * texts mean equal values, and different texts different ones.
 */
export function digestText(value: unknown): string {
  const numbers = new Map<string, number>();
  const body = written(value, (text) => {
    if (text.length < minShared) return JSON.stringify(text);
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    // No value begins with this character.
    return `#${number}`;
  });
  return `${body}\n${JSON.stringify([...numbers.keys()])}`;
}

function written(value: unknown, textOf: (text: string) => string): string {
  if (typeof value === "string") return textOf(value);
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  let text = "";
  if (Array.isArray(value)) {
    for (const one of value) text += text === "" ? written(one, textOf) : `,${written(one, textOf)}`;
    return `[${text}]`;
  }
  for (const key of sortedKeys(value)) {
    const one = (value as Record<string, unknown>)[key];
    if (one !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${written(one, textOf)}`;
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
