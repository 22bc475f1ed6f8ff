import { didYouMean } from "../diagnostics/nearest.ts";
import { type Place, type Problems, pointer } from "../diagnostics/problems.ts";
import type { Vocabulary } from "../lab/vocabulary.ts";
import type { Entry, MapValue, Value } from "../parse/parse.ts";

/** A value with its place in the document, which all functions here take. */
export interface Field {
  readonly value: Value;
  readonly path: string;
  /** The place of the key, if there is one: better to point at than a whole block. */
  readonly place: Place;
}

export function field(entry: Entry, path: string): Field {
  return { value: entry.value, path: pointer(path, entry.range?.key ?? entry.key), place: entry.place };
}

/** Returns the field of a map, or undefined if it is absent or null (an empty `key:` sets nothing). */
export function fieldOf(map: MapValue, key: string, path: string): Field | undefined {
  const entry = map.entries.get(key);
  return entry === undefined || isNull(entry.value) ? undefined : field(entry, path);
}

export function isNull(value: Value): boolean {
  return value.kind === "scalar" && value.value === null;
}

/** Reports unknown keys as errors, and containerlab's keys without effect as warnings. */
export function checkKeys(problems: Problems, map: MapValue, path: string, vocabulary: Vocabulary): void {
  for (const entry of map.entries.values()) {
    if (vocabulary.known.includes(entry.key)) continue;
    const here = pointer(path, entry.key);
    if (vocabulary.ignored.includes(entry.key)) {
      const { instead = {} } = vocabulary;
      const hint = Object.hasOwn(instead, entry.key) ? instead[entry.key] : undefined;
      problems.warn("ignored_key", entry.place, here, `${JSON.stringify(entry.key)} is not supported and has no effect`, hint);
      continue;
    }
    const meant = Object.hasOwn(vocabulary.meant, entry.key) ? vocabulary.meant[entry.key] : undefined;
    const hint =
      meant === undefined
        ? didYouMean(entry.key, [...vocabulary.known, ...vocabulary.ignored], problems.effort)
        : `did you mean ${JSON.stringify(meant)}?`;
    const known = `known here: ${vocabulary.known.join(", ")}`;
    problems.error("unknown_key", entry.place, here, `unknown key ${JSON.stringify(entry.key)}`, hint ?? known);
  }
}

export function readMap(problems: Problems, { value, path, place }: Field): MapValue | undefined {
  if (value.kind === "map") return value;
  return wrongType(problems, { value, path, place }, "a map");
}

export function readList(problems: Problems, { value, path, place }: Field): readonly Field[] | undefined {
  if (value.kind !== "list") return wrongType(problems, { value, path, place }, "a list");
  return value.items.map((item, index) => ({ value: item, path: pointer(path, index), place: item }));
}

/** Reads a text. With `loose`, a number or boolean is accepted as it is written (`image: 7.10` is "7.10"). */
export function readText(
  problems: Problems,
  at: Field,
  options: { readonly loose?: boolean; readonly max?: number } = {},
): string | undefined {
  const { value } = at;
  if (value.kind !== "scalar" || value.value === null) return wrongType(problems, at, "a text");
  if (typeof value.value !== "string" && !options.loose) return wrongType(problems, at, "a text", `write it in quotes: "${value.text}"`);
  const text = value.text;
  if (text.includes("\0")) return invalid(problems, at, "a text here has no NUL character");
  if (options.max !== undefined && text.length > options.max) return invalid(problems, at, `at most ${options.max} characters`);
  return text;
}

/** Reads a text of one line that is not empty. */
export function readLine(
  problems: Problems,
  at: Field,
  options: { readonly loose?: boolean; readonly max?: number } = {},
): string | undefined {
  const text = readText(problems, at, { max: 255, ...options });
  if (text === undefined) return undefined;
  if (text.trim() === "") return invalid(problems, at, "it must not be empty");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a single line must not contain these
  if (/[\x00-\x1f\x7f]/.test(text)) return invalid(problems, at, "it must be a single line");
  return text;
}

export interface NumberRule {
  readonly min: number;
  readonly max: number;
  readonly integer?: boolean;
  readonly unit?: string;
}

export function readNumber(problems: Problems, at: Field, rule: NumberRule): number | undefined {
  const { value } = at;
  if (value.kind !== "scalar" || typeof value.value !== "number") {
    const number = value.kind === "scalar" && typeof value.value === "string" && /^-?\d+(\.\d+)?$/.test(value.value);
    const unit = rule.unit === undefined ? undefined : `write the number alone, its unit is ${rule.unit}`;
    return wrongType(problems, at, rule.integer ? "a whole number" : "a number", number ? "write it without quotes" : unit);
  }
  const number = value.value;
  if (!Number.isFinite(number)) return invalid(problems, at, "it must be a finite number");
  if (rule.integer && !Number.isInteger(number)) return wrongType(problems, at, "a whole number");
  if (number < rule.min || number > rule.max) {
    const unit = rule.unit === undefined ? "" : ` ${rule.unit}`;
    problems.error("out_of_range", spot(at), at.path, `${value.text} is out of range: ${rule.min} to ${rule.max}${unit}`);
    return undefined;
  }
  return number === 0 ? 0 : number;
}

export function readBoolean(problems: Problems, at: Field): boolean | undefined {
  const { value } = at;
  if (value.kind === "scalar" && typeof value.value === "boolean") return value.value;
  const word = value.kind === "scalar" ? value.text.toLowerCase() : "";
  const hint = ["yes", "on"].includes(word) ? "write true" : ["no", "off"].includes(word) ? "write false" : undefined;
  return wrongType(problems, at, "true or false", hint);
}

export function wrongType(problems: Problems, at: Field, wanted: string, hint?: string): undefined {
  problems.error("wrong_type", spot(at), at.path, `${named(at.path)}must be ${wanted}, not ${kindOf(at.value)}`, hint);
  return undefined;
}

export function invalid(problems: Problems, at: Field, message: string, hint?: string): undefined {
  problems.error("invalid_value", spot(at), at.path, `${named(at.path)}${message}`, hint);
  return undefined;
}

/** Returns the place to point at: the value if it is on one line, otherwise its key. */
export function spot({ value, place }: Field): Place {
  return value.kind === "scalar" && value.end > value.start && !value.text.includes("\n") ? value : place;
}

function named(path: string): string {
  const last = path
    .slice(path.lastIndexOf("/") + 1)
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");
  return /^\d*$/.test(last) ? "" : `${JSON.stringify(last)}: `;
}

function kindOf(value: Value): string {
  if (value.kind !== "scalar") return value.kind === "map" ? "a map" : "a list";
  if (value.value === null) return "empty";
  if (typeof value.value === "string") return "a text";
  return typeof value.value === "number" ? "a number" : "a boolean";
}
