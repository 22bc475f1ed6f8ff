import { isShared } from "../contract/shared-answer.ts";

/** Shared parts as JSON; as long as they live. */
const texts = new WeakMap<object, string>();

/** The envelope of a success, just as JSON.stringify would write it; parts of the data that many callers get are written once for all of them. */
export function envelopeText(data: unknown): string {
  if (!hasSharedParts(data)) return JSON.stringify({ ok: true, data });
  const fields = Object.entries(data).flatMap(([name, value]) => {
    const text = isShared(value) ? textOf(value) : JSON.stringify(value);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{"ok":true,"data":{${fields.join(",")}}}`;
}

function hasSharedParts(data: unknown): data is Readonly<Record<string, unknown>> {
  return typeof data === "object" && data !== null && !Array.isArray(data) && Object.values(data).some(isShared);
}

function textOf(value: object): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  texts.set(value, text);
  return text;
}
