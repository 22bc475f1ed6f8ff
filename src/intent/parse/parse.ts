import { Composer, type Document, isAlias, isMap, isPair, isScalar, isSeq, Lexer, type Pair, Parser, type Scalar } from "yaml";
import type { DiagnosticCode } from "../diagnostics/codes.ts";
import { type Place, type Problems, pointer } from "../diagnostics/problems.ts";

/**
 * Parses the YAML text into a tree with places. An alias is the same object as its anchor's value (shared, never copied); merge keys are resolved.
 * The size of the tree with copies is limited, so that aliases cannot make a caller's walk explode.
 */
export type Value = ScalarValue | ListValue | MapValue;

export interface ScalarValue extends Place {
  readonly kind: "scalar";
  readonly value: string | number | boolean | null;
  /** The source text, before the schema makes a number or boolean of it. */
  readonly text: string;
  readonly size: number;
}

export interface ListValue extends Place {
  readonly kind: "list";
  readonly items: readonly Value[];
  readonly size: number;
}

export interface MapValue extends Place {
  readonly kind: "map";
  readonly entries: ReadonlyMap<string, Entry>;
  readonly size: number;
}

export interface Entry {
  readonly key: string;
  readonly place: Place;
  readonly value: Value;
  /** Whether the key came in by `<<`. false: it is written in the map itself. */
  readonly merged: boolean;
  /** For a node that only a range names: the range and its value. */
  readonly range?: { readonly key: string; readonly value: Value };
}

export interface Parsed {
  readonly document: Document.Parsed;
  readonly root: Value;
}

// Limits: far above any real or generated lab, and low enough that the worst text is refused within a second or two.
export const MAX_CHARACTERS = 8 * 1024 * 1024;
const MAX_LEXEMES = 500_000;
const MAX_DEPTH = 64;
/** Number of values after aliases and merge keys are resolved. A long text counts as several values. */
export const MAX_VALUES = 2_000_000;
const CHARACTERS_OF_VALUE = 16;

const syntaxHints: Readonly<Record<string, string>> = {
  BAD_INDENT: "keys of one map begin in the same column",
  RESOURCE_EXHAUSTION: "nest less",
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: YAML forbids these characters
const FORBIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\p{Cs}/u;

/** Returns undefined if there was an error; all errors are in `problems`. */
export function parseYaml(text: string, problems: Problems, options: { readonly keepTokens?: boolean } = {}): Parsed | undefined {
  const refuse = (code: DiagnosticCode, start: number, message: string, hint?: string): undefined => {
    problems.error(code, { start, end: start + 1 }, "", message, hint);
    return undefined;
  };
  if (text.length > MAX_CHARACTERS)
    return refuse("too_large", 0, `the intent has more than ${MAX_CHARACTERS} characters`, "move long texts into files, or divide the lab");
  const forbidden = FORBIDDEN.exec(text);
  if (forbidden !== null) {
    const code = forbidden[0].codePointAt(0) as number;
    const shown = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    return refuse("forbidden_character", forbidden.index, `the character ${shown} is not allowed in YAML`);
  }

  const parser = new Parser();
  const tokens = [];
  let lexemes = 0;
  let documents = 0;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) {
      tokens.push(token);
      if (token.type === "document" || token.type === "doc-end") documents++;
    }
    // Two are enough to know that there are several documents.
    if (documents > 8) break;
    // One level of a block map can take two entries of the stack.
    if (parser.stack.length > 2 * MAX_DEPTH) return refuse("too_deep", parser.offset, `nested deeper than ${MAX_DEPTH} levels`);
    if (++lexemes > MAX_LEXEMES) return refuse("too_large", parser.offset, "the intent has too many YAML elements to be a lab");
  }
  for (const token of parser.end()) tokens.push(token);

  const composer = new Composer({
    version: "1.2",
    schema: "core",
    merge: false,
    resolveKnownTags: false,
    // Duplicate keys are checked below with a set: the library compares every key with every other.
    uniqueKeys: false,
    prettyErrors: false,
    keepSourceTokens: options.keepTokens ?? false,
  });
  const [document, second] = [...composer.compose(tokens, true, text.length)];
  const only = document?.contents;
  const blank = document !== undefined && document.errors.length === 0 && (only === null || (isScalar(only) && isEmptyScalar(only)));
  if (document === undefined || (blank && second === undefined))
    return refuse("empty", 0, "the intent is empty", "it needs at least a name");
  if (second !== undefined) {
    refuse("multiple_documents", second.range[0], "a second YAML document begins here", "keep one lab in one document");
  }
  reportSyntax(text, document.errors, problems);
  for (const found of document.warnings) problems.warn("yaml_warning", place(found.pos), "", sentence(found.message));
  if (document.errors.length > 0) return undefined;
  const root = new Builder(text, problems).build(document.contents);
  return root === undefined ? undefined : { document: document as Document.Parsed, root };
}

/** Reports errors of the syntax. If a tab indents a line, only the tab is reported: the parser's other errors are consequences of it, with misleading texts. */
function reportSyntax(text: string, errors: Document.Parsed["errors"], problems: Problems): void {
  const tabs = new Set(errors.flatMap(({ pos }) => tabThatIndents(text, pos[0]) ?? []));
  for (const at of tabs) problems.error("yaml_syntax", place([at, at + 1]), "", "a tab cannot indent a line in YAML", "indent with spaces");
  if (tabs.size > 0) return;
  for (const found of errors) problems.error("yaml_syntax", place(found.pos), "", sentence(found.message), syntaxHint(found));
}

/** Returns the index of the tab in front of the line that contains this place. */
function tabThatIndents(text: string, at: number): number | undefined {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  const blanks = /^ *(?=\t)/.exec(text.slice(start, start + 1000))?.[0];
  return blanks === undefined ? undefined : start + blanks.length;
}

function syntaxHint({ code, message }: { readonly code: string; readonly message: string }): string | undefined {
  // The parser gives an open bracket the code of a wrong indent.
  const bracket = /end with a ([\]}])/.exec(message)?.[1];
  return bracket === undefined ? syntaxHints[code] : `a "${bracket === "]" ? "[" : "{"}" before this place is not closed`;
}

/** Returns the number of values that a scalar counts for. */
export function scalarSize(text: string): number {
  return 1 + Math.floor(text.length / CHARACTERS_OF_VALUE);
}

function isEmptyScalar(node: Scalar): boolean {
  return node.value === null && (node.source ?? "") === "" && node.anchor === undefined && node.tag === undefined;
}

function place(at: readonly [number, number]): Place {
  return { start: at[0], end: at[1] };
}

function sentence(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1);
}

class TooMany extends Error {}

const RECURSIVE = Symbol("being built");

class Builder {
  readonly #text: string;
  readonly #problems: Problems;
  readonly #anchors = new Map<string, Value | typeof RECURSIVE>();

  constructor(text: string, problems: Problems) {
    this.#text = text;
    this.#problems = problems;
  }

  build(node: unknown): Value | undefined {
    try {
      return this.#value(node, "", { start: 0, end: 1 });
    } catch (error) {
      if (!(error instanceof TooMany)) throw error;
      this.#problems.error("too_large", { start: 0, end: 1 }, "", "the aliases make more values and text than a lab can have");
      return undefined;
    }
  }

  #value(node: unknown, path: string, empty: Place): Value {
    if (isAlias(node)) {
      const at = place([node.range?.[0] ?? empty.start, node.range?.[1] ?? empty.end]);
      const target = this.#anchors.get(node.source);
      if (target !== undefined && target !== RECURSIVE) return target;
      const message =
        target === undefined ? `no anchor &${node.source} is defined before this alias` : `the alias *${node.source} contains itself`;
      this.#problems.error(target === undefined ? "unknown_alias" : "recursive_alias", at, path, message);
      return nothing(at);
    }
    const anchor = isScalar(node) || isMap(node) || isSeq(node) ? node.anchor : undefined;
    if (anchor !== undefined) this.#anchors.set(anchor, RECURSIVE);
    const value = this.#plain(node, path, empty);
    if (value.size > MAX_VALUES) throw new TooMany();
    if (anchor !== undefined) this.#anchors.set(anchor, value);
    return value;
  }

  #plain(node: unknown, path: string, empty: Place): Value {
    if (isMap(node)) return this.#map(node.items, place(node.range as never), path);
    if (isSeq(node)) {
      const items: Value[] = [];
      let size = 1;
      const at = place(node.range as never);
      for (const [index, item] of node.items.entries()) {
        const value = isPair(item) ? this.#map([item], at, path) : this.#value(item, pointer(path, index), at);
        items.push(value);
        size += value.size;
        if (size > MAX_VALUES) throw new TooMany();
      }
      return { kind: "list", items, size, ...at };
    }
    if (isScalar(node)) {
      const at = node.range ? place(node.range as never) : empty;
      const { value } = node;
      const known = typeof value === "string" || typeof value === "number" || typeof value === "boolean" || value === null;
      const plain = known ? value : String(value);
      const text = typeof plain === "string" ? plain : (node.source ?? String(plain));
      return { kind: "scalar", value: plain, text, size: scalarSize(text), ...at };
    }
    return nothing(empty);
  }

  #map(pairs: readonly Pair<unknown, unknown>[], at: Place, path: string): MapValue {
    const own = new Map<string, Entry>();
    const merged: MapValue[] = [];
    let size = 1;
    for (const pair of pairs) {
      const key = this.#key(pair.key, path, at);
      if (key === undefined) continue;
      const here = pointer(path, key.name);
      const value = this.#value(pair.value, here, { start: key.place.end, end: key.place.end });
      size += value.size;
      if (size > MAX_VALUES) throw new TooMany();
      if (key.name === "<<" && isScalar(pair.key) && pair.key.type === "PLAIN") {
        merged.push(...this.#merge(value, here, key.place));
        continue;
      }
      const first = own.get(key.name);
      if (first !== undefined) {
        const line = this.#problems.line(first.place.start);
        this.#problems.error("duplicate_key", key.place, here, `the key ${JSON.stringify(key.name)} is repeated, first in line ${line}`);
        continue;
      }
      own.set(key.name, { key: key.name, place: key.place, value, merged: false });
    }
    const entries = new Map(own);
    for (const map of merged) {
      for (const [key, entry] of map.entries) {
        if (!entries.has(key)) entries.set(key, { ...entry, merged: true });
      }
    }
    return { kind: "map", entries, size, ...at };
  }

  #merge(value: Value, path: string, at: Place): readonly MapValue[] {
    const maps = value.kind === "list" ? value.items : [value];
    return maps.filter((map): map is MapValue => {
      if (map.kind === "map") return true;
      this.#problems.error("invalid_merge", at, path, "the merge key << takes a map or a list of maps");
      return false;
    });
  }

  #key(node: unknown, path: string, map: Place): { readonly name: string; readonly place: Place } | undefined {
    const value = node === null ? nothing(map) : this.#value(node, path, map);
    if (value.kind !== "scalar" || value.value === null) {
      this.#problems.error("non_string_key", value, path, "a key must be a text");
      return undefined;
    }
    // A number or boolean as a key is its text: `nodes: {1: …}` is the node "1".
    const at = isScalar(node) && node.range ? place(node.range as never) : value;
    return { name: value.text, place: { start: at.start, end: Math.min(at.end, this.#text.length) } };
  }
}

function nothing(at: Place): ScalarValue {
  return { kind: "scalar", value: null, text: "", size: 1, start: at.start, end: at.end };
}
