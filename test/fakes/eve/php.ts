import { namedEntities } from "./html-entities.ts";

/** The ways of PHP that EVE-NG's answers show. */

export type PhpKey = number | string;

/** A PHP array with keys that may be numbers: JSON shows it as [], […] or {…}, whatever it is meant to be. */
export type PhpArray = ReadonlyMap<PhpKey, unknown>;

/** json_encode: slashes and everything beyond ASCII are escaped; an array with keys 0, 1, 2 … is a list, and so is an empty one. */
export function phpJson(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") {
    return JSON.stringify(value)
      .replaceAll("/", "\\/")
      .replaceAll(/[\u007f-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return `[${value.map(phpJson).join(",")}]`;
  if (!(value instanceof Map)) return members(Object.entries(value));
  const keys = [...value.keys()];
  return keys.every((key, index) => key === index) ? `[${[...value.values()].map(phpJson).join(",")}]` : members([...value]);
}

function members(entries: readonly (readonly [PhpKey, unknown])[]): string {
  return `{${entries.map(([key, value]) => `${phpJson(String(key))}:${phpJson(value)}`).join(",")}}`;
}

/** (int) */
export function phpInt(value: unknown): number {
  if (typeof value === "number") return Math.trunc(value);
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "string") return Number.parseInt(value, 10) || 0;
  return Array.isArray(value) ? Math.min(value.length, 1) : 0;
}

/** (string), of what a body can hold. */
export function phpString(value: unknown): string {
  if (value === null || value === undefined || value === false) return "";
  return value === true ? "1" : String(value);
}

export function isset<Value>(value: Value | null | undefined): value is Value {
  return value !== null && value !== undefined;
}

/** htmlspecialchars without quotes, which EVE-NG applies to a lab's texts each time it reads them. */
export function htmlSpecialChars(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** htmlentities, which EVE-NG applies to names each time it reads them. So "&" grows with every save. */
export function htmlEntities(text: string): string {
  return htmlSpecialChars(text)
    .replaceAll('"', "&quot;")
    .replaceAll(/[\u0080-\u{10ffff}]/gu, (character) => namedEntities.get(character) ?? character);
}

export function htmlDecode(text: string): string {
  return text.replaceAll("&quot;", '"').replaceAll("&gt;", ">").replaceAll("&lt;", "<").replaceAll("&amp;", "&");
}

/** strnatcasecmp. */
export function naturally(one: string, other: string): number {
  return collator.compare(one, other) || (one < other ? -1 : 1);
}
const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** A request's body, as json_decode gives it; anything but an array is none. */
export type Body = Readonly<Record<string, unknown>>;

export function readBody(text: string): Body {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Body) : {};
  } catch {
    return {};
  }
}
