import { TextFinder, type TextRange } from "../../../base/text-finder.ts";
import { isSensitive } from "../../../engine/model/sensitive.ts";
import { secretsIn } from "../../../engine/show/secret-words.ts";

/** Secrets of a request. The host, or a proxy in front of it, may repeat them in the message of its answer. */
export interface SentSecrets {
  /** Passwords and session cookies. */
  readonly values: readonly string[];
  /** Texts that contain secrets: startup configurations. */
  readonly texts: readonly string[];
}

export const noSecrets: SentSecrets = { values: [], texts: [] };

export function joinSecrets(...all: readonly SentSecrets[]): SentSecrets {
  return { values: all.flatMap(({ values }) => values), texts: all.flatMap(({ texts }) => texts) };
}

const redacted = "********";
/** Maximum characters of a message that are searched. Longer messages are cut. */
const maxSearched = 8 << 10;
/** Maximum characters of a message that are kept. Fewer than are searched, so that no secret is cut in two before the search. */
const maxKept = 2_000;
/** A part of a secret with this many characters is redacted. Shorter secrets are redacted only as whole words. */
const partLength = 8;
/** Shorter words of a configuration are not taken for secrets: "0", "RO". */
const minWord = 4;
/** A string in a request's body with more characters than this counts as a configuration, even if it is one line. */
const maxValue = 200;

/**
 * Returns the message without the secrets of the request, and cut to 2,000 characters. Finds secrets and their parts also in JSON, URL and HTML
 * notation, and with other blanks. The time is linear in the secrets.
 */
export function withoutSecrets(message: string, secrets: SentSecrets): string {
  const searched = message.slice(0, maxSearched);
  const plain = decode(searched);
  const solid = solidOf(plain.text);
  const ranges = [...longRanges(solid.text, secrets), ...shortRanges(solid, plain.text, secrets)].map(({ start, end }) => ({
    start: plain.starts[solid.places[start]!]!,
    end: plain.ends[solid.places[end - 1]!]!,
  }));
  let kept = "";
  let at = 0;
  for (const { start, end } of ranges.sort((a, b) => a.start - b.start)) {
    if (start >= at) kept += searched.slice(at, start) + redacted;
    at = Math.max(at, end);
  }
  kept += searched.slice(at);
  return kept.length > maxKept || message.length > maxSearched ? `${kept.slice(0, maxKept)}…` : kept;
}

/** Returns the secrets in the JSON body of a request: configurations, values of fields with a sensitive name, and words after a keyword such as *password*. */
export function secretsOfBody(body: unknown): SentSecrets {
  const values: string[] = [];
  const texts: string[] = [];
  const collect = (name: string, value: unknown): void => {
    if (typeof value === "object" && value !== null) for (const [key, part] of Object.entries(value)) collect(key, part);
    if (typeof value !== "string") return;
    if (/[\r\n]/.test(value) || value.length > maxValue) texts.push(value);
    if (isSensitive(name)) values.push(value);
    else values.push(...secretWords(value));
  };
  if (!(body instanceof Uint8Array)) collect("", body);
  return { values, texts };
}

/** Returns the secrets of configurations that are sent in another form, such as a lab's file. */
export function secretsOfTexts(texts: readonly string[]): SentSecrets {
  return { values: texts.flatMap(secretWords), texts: [...texts, ...texts.map((text) => Buffer.from(text).toString("base64"))] };
}

function secretWords(text: string): readonly string[] {
  return secretsIn(text).flatMap((secret) => secret.split(/[\s"';,]+/).filter(({ length }) => length >= minWord));
}

/** Ranges of the parts of the secrets. Only parts that the message contains are searched for, so that large configurations need little memory. */
function longRanges(solid: string, { values, texts }: SentSecrets): readonly TextRange[] {
  const parts = new Set<string>();
  const hashes = new Uint8Array(1 << 16);
  for (let at = 0; at + partLength <= solid.length; at++) {
    parts.add(solid.slice(at, at + partLength));
    hashes[hashAt(solid, at)] = 1;
  }
  const found = new Set<string>();
  for (const text of parts.size === 0 ? [] : [...values, ...texts]) {
    const secret = comparable(text);
    for (let at = 0; at + partLength <= secret.length; at++) {
      if (hashes[hashAt(secret, at)] === 0) continue;
      const part = secret.slice(at, at + partLength);
      if (parts.has(part)) found.add(part);
    }
  }
  return new TextFinder([...found]).find(solid);
}

/** A cheap hash of a part, from half of its characters. */
function hashAt(text: string, at: number): number {
  const code = (offset: number) => text.charCodeAt(at + offset);
  return (code(0) ^ (code(2) << 4) ^ (code(5) << 8) ^ (code(7) << 11)) & 0xffff;
}

/** Ranges of secrets that are too short to have parts. Inside of a longer word they are left: a password "eve" must not change "received". */
function shortRanges(solid: Solid, plain: string, { values }: SentSecrets): readonly TextRange[] {
  const ranges: TextRange[] = [];
  const isInWord = (before: string | undefined, after: string | undefined) => isLetter(before) && isLetter(after);
  for (const value of new Set(values.map(comparable))) {
    if (value === "" || value.length >= partLength) continue;
    for (let start = solid.text.indexOf(value); start >= 0; start = solid.text.indexOf(value, start + 1)) {
      const end = start + value.length;
      const [first, last] = [solid.places[start]!, solid.places[end - 1]!];
      if (isInWord(plain[first - 1], value[0]) || isInWord(value.at(-1), plain[last + 1])) continue;
      ranges.push({ start, end });
    }
  }
  return ranges;
}

function isLetter(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}]/u.test(character);
}

interface Solid {
  /** The text without blanks, control characters, and characters that only escape others. */
  readonly text: string;
  /** The place of each of its characters in the whole text. */
  readonly places: Uint32Array;
}

function solidOf(text: string): Solid {
  const places = new Uint32Array(text.length);
  let solid = "";
  for (const { 0: run, index } of text.matchAll(/[^\s\\+\p{Cc}\p{Cf}]+/gu)) {
    for (let at = 0; at < run.length; at++) places[solid.length + at] = index + at;
    solid += run;
  }
  return { text: solid, places };
}

/** Returns solidOf(decode()) of a secret, without places, which is faster. */
function comparable(secret: string): string {
  let text = secret;
  for (let pass = 0; pass < maxNotations; pass++) {
    const next = text.replace(escapes, unescaped);
    if (next === text) break;
    text = next;
  }
  return text.replace(/[\s\\+\p{Cc}\p{Cf}]+/gu, "");
}

interface Decoded {
  readonly text: string;
  /** The start and end of each of its characters in the given text. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

const escapes = /\\u[0-9a-fA-F]{4}|\\[nrtbf\\]|(?:%[0-9a-fA-F]{2})+|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|lt|gt|amp|quot|apos|nbsp);/g;
const blanks: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f" };
const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'", nbsp: "\u00a0" };
/** Notations inside of each other, such as JSON in a URL in a page. */
const maxNotations = 4;

/** Returns the text with JSON, URL and HTML escapes replaced by their characters, as often as there are any. */
function decode(given: string): Decoded {
  let text = given;
  let [starts, ends] = [new Uint32Array(text.length), new Uint32Array(text.length)];
  for (let at = 0; at < text.length; at++) {
    starts[at] = at;
    ends[at] = at + 1;
  }
  for (let pass = 0; pass < maxNotations; pass++) {
    const escaped = [...text.matchAll(escapes)];
    if (escaped.length === 0) break;
    const [nextStarts, nextEnds] = [new Uint32Array(text.length), new Uint32Array(text.length)];
    let next = "";
    let at = 0;
    const copy = (end: number) => {
      nextStarts.set(starts.subarray(at, end), next.length);
      nextEnds.set(ends.subarray(at, end), next.length);
      next += text.slice(at, end);
    };
    for (const { 0: found, index } of escaped) {
      copy(index);
      at = index + found.length;
      const characters = unescaped(found);
      for (let i = 0; i < characters.length; i++) {
        nextStarts[next.length + i] = starts[index]!;
        nextEnds[next.length + i] = ends[at - 1]!;
      }
      next += characters;
    }
    copy(text.length);
    if (next === text) break;
    [text, starts, ends] = [next, nextStarts, nextEnds];
  }
  return { text, starts, ends };
}

/** Returns the characters of an escape, or the escape if it has none. Never longer than the escape. */
function unescaped(escaped: string): string {
  if (escaped.startsWith("\\u")) return String.fromCharCode(Number.parseInt(escaped.slice(2), 16));
  if (escaped.startsWith("\\")) return blanks[escaped[1]!] ?? "\\";
  if (escaped.startsWith("%")) {
    const text = Buffer.from(escaped.replaceAll("%", ""), "hex").toString("utf8");
    return text.includes("\ufffd") ? escaped : text;
  }
  const name = escaped.slice(1, -1);
  if (!name.startsWith("#")) return entities[name] ?? escaped;
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : escaped;
}
