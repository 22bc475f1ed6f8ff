/** A message in which each long text that occurs more than once is one object. */
export interface Packed {
  readonly value: unknown;
  readonly texts: readonly SharedText[];
}

interface SharedText {
  readonly text: string;
}

/** Minimum characters of a text that is shared: a short one is smaller than the object. */
const minCharacters = 1024;

/**
 * Prepares a value for another thread. A message copies every occurrence of a text, but an object only once: without sharing, one file of a thousand nodes
 * would be copied a thousand times. @param value plain data without cycles; other objects, such as maps, are not searched
 */
export function packed(value: unknown): Packed {
  const texts = repeatedTexts(value);
  return texts.size === 0 ? { value, texts: [] } : { value: withObjects(value, texts, new Map()), texts: [...texts.values()] };
}

/** Returns the value that was packed. Changes the message, which must be a copy. */
export function unpacked({ value, texts }: Packed): unknown {
  if (texts.length > 0) restore(value, new Map(texts.map((one) => [one, one.text])), new Set());
  return value;
}

function repeatedTexts(value: unknown): ReadonlyMap<string, SharedText> {
  const once = new Set<string>();
  const repeated = new Map<string, SharedText>();
  const seen = new Set<object>();
  const search = (part: unknown): void => {
    if (typeof part === "string") {
      if (part.length < minCharacters) return;
      if (!once.has(part)) once.add(part);
      else if (!repeated.has(part)) repeated.set(part, { text: part });
    } else if (isPlain(part) && !seen.has(part)) {
      seen.add(part);
      // Own properties only, as plain data has no others; without the arrays that Object.values would make for each of many thousand parts.
      for (const key in part) search((part as Readonly<Record<string, unknown>>)[key]);
    }
  };
  search(value);
  return repeated;
}

/** Returns the value with objects in place of the texts. Parts without such a text, and parts that occur in several places, stay one object. */
function withObjects(value: unknown, texts: ReadonlyMap<string, SharedText>, known: Map<object, unknown>): unknown {
  if (typeof value === "string") return value.length < minCharacters ? value : (texts.get(value) ?? value);
  if (!isPlain(value)) return value;
  const before = known.get(value);
  if (before !== undefined) return before;
  const entries = Object.entries(value).map(([key, part]) => [key, withObjects(part, texts, known)] as const);
  const isSame = entries.every(([key, part]) => part === (value as Record<string, unknown>)[key]);
  const result = isSame ? value : Array.isArray(value) ? entries.map(([, part]) => part) : Object.fromEntries(entries);
  known.set(value, result);
  return result;
}

function restore(value: unknown, texts: ReadonlyMap<unknown, string>, seen: Set<object>): void {
  if (!isPlain(value) || seen.has(value)) return;
  seen.add(value);
  for (const [key, part] of Object.entries(value)) {
    const text = texts.get(part);
    if (text === undefined) restore(part, texts, seen);
    else (value as Record<string, unknown>)[key] = text;
  }
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
