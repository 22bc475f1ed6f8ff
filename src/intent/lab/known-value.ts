import type { Scalar } from "./lab.ts";

/** What a check without a host needs to know of an attribute. */
export interface KnownAttribute {
  readonly name: string;
  readonly type: string;
  readonly default?: string;
  /** Of an enum: the values. */
  readonly options: readonly string[];
  /** Of a string that is a list of words: the words. */
  readonly words: readonly string[];
}

/** What the value should be, if it does not fit; undefined for a good one. Ranges of numbers are left to the host. */
export function wantedValue(value: Scalar, { type, options, words, default: usual }: KnownAttribute): string | undefined {
  const text = String(value);
  if (text === usual) return undefined;
  if (type === "boolean") return text === "true" || text === "false" ? undefined : "true or false";
  if (type === "enum") return options.includes(text) ? undefined : `one of ${options.join(", ")}`;
  if (type === "integer" || type === "number") return text.trim() !== "" && Number.isFinite(Number(text)) ? undefined : "a number";
  const unknown = words.length === 0 ? undefined : text.split(/[\s,]+/).find((word) => word !== "" && !words.includes(word));
  return unknown === undefined ? undefined : `${usual === undefined ? "" : `${usual} or `}a list of ${words.join(", ")}`;
}
