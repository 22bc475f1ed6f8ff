import type { Scalar } from "./lab.ts";

/** The facts of an attribute that a check without a host needs. */
export interface KnownAttribute {
  readonly name: string;
  readonly type: string;
  readonly default?: string;
  /** Allowed values of an enum. */
  readonly options: readonly string[];
  /** Allowed words of a string that is a list of words. */
  readonly words: readonly string[];
}

/** Returns a description of the allowed values if the value is not one of them, otherwise `undefined`. The host checks the ranges of numbers. */
export function wantedValue(value: Scalar, { type, options, words, default: usual }: KnownAttribute): string | undefined {
  const text = String(value);
  if (text === usual) return undefined;
  if (type === "boolean") return text === "true" || text === "false" ? undefined : "true or false";
  if (type === "enum") return options.includes(text) ? undefined : `one of ${options.join(", ")}`;
  if (type === "integer" || type === "number") return text.trim() !== "" && Number.isFinite(Number(text)) ? undefined : "a number";
  const unknown = words.length === 0 ? undefined : text.split(/[\s,]+/).find((word) => word !== "" && !words.includes(word));
  return unknown === undefined ? undefined : `${usual === undefined ? "" : `${usual} or `}a list of ${words.join(", ")}`;
}
