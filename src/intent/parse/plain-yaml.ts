import type { Place } from "../diagnostics/problems.ts";
import { type Entry, MAX_CHARACTERS, type MapValue, scalarSize, type Value } from "./parse.ts";

/** The place of every value. It is never shown: a text with a problem is read by parseYaml(), which has the real places. */
const nowhere: Place = { start: 0, end: 1 };

const maxDepth = 30;
/** Maximum parts of a value or line, below the limits of parseYaml(). */
const partsEach = 6;
const maxParts = 500_000;

/** Printable ASCII in lines: no tabs, no other line breaks. */
const foreign = /[^\x20-\x7e\n]/;
const key = /([A-Za-z_][A-Za-z0-9_.-]{0,99}):(?= |$) */y;
const quoted = /"([^"\\]*)"|'([^']*)'(?!')/y;
const words = /[A-Za-z0-9_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_][A-Za-z0-9_./-]*)*/y;
const spaces = / */y;
/** Words that are not plain text in some version of YAML. */
const special = /^(?:null|true|false)$/i;
const number = /^(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?$/;

class NotPlain extends Error {}

/**
 * Returns the YAML text as parseYaml() does, except for the places, in a fraction of the time. Returns undefined for a text that is not plain. Plain
 * texts have maps and lists in blocks, lists and maps within one line, quoted text without escapes, words, decimal numbers and comments, as
 * generators and most people write labs.
 */
export function plainYaml(text: string): Value | undefined {
  if (text.length > MAX_CHARACTERS || foreign.test(text)) return undefined;
  try {
    return new PlainReader(text).root();
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
}

interface Line {
  readonly indent: number;
  readonly text: string;
}

class PlainReader {
  readonly #lines: Line[] = [];
  /** Index in #lines of the next line. */
  #at = 0;
  /** Index of the next character in the current line. */
  #column = 0;
  #depth = 0;
  #parts = 0;

  constructor(text: string) {
    for (const line of text.split("\n")) {
      this.#count();
      const whole = line.trimEnd();
      const rest = whole.trimStart();
      if (rest !== "" && !rest.startsWith("#")) this.#lines.push({ indent: whole.length - rest.length, text: rest });
    }
  }

  root(): Value {
    const root = this.#lines[0]?.indent === 0 ? this.#block(0) : refuse();
    return this.#at === this.#lines.length ? root : refuse();
  }

  #count(): void {
    this.#parts += partsEach;
    if (this.#parts > maxParts) refuse();
  }

  /** Reads the value in the lines of this indent. */
  #block(indent: number): Value {
    this.#count();
    if (++this.#depth > maxDepth) refuse();
    const value = isItem(this.#lines[this.#at]) ? this.#items(indent) : this.#entries(indent);
    this.#depth--;
    return value;
  }

  #items(indent: number): Value {
    const items: Value[] = [];
    for (let line = this.#lines[this.#at]; line?.indent === indent && isItem(line); line = this.#lines[this.#at]) {
      const rest = line.text.slice(1).trimStart();
      if (rest === "" || isItem({ indent, text: rest })) refuse();
      if (matchAt(key, rest, 0) === null) {
        items.push(this.#line(rest, 0, indent));
        continue;
      }
      // The map begins behind the dash.
      const column = indent + line.text.length - rest.length;
      this.#lines[this.#at] = { indent: column, text: rest };
      items.push(this.#block(column));
    }
    return { kind: "list", items, size: sizeOf(items), ...nowhere };
  }

  #entries(indent: number): MapValue {
    const entries = new Map<string, Entry>();
    for (let line = this.#lines[this.#at]; line?.indent === indent && !isItem(line); line = this.#lines[this.#at]) {
      this.#count();
      const found = matchAt(key, line.text, 0);
      if (found === null) refuse();
      const [begin, name] = found as unknown as readonly [string, string];
      const value =
        begin.length < line.text.length && line.text[begin.length] !== "#"
          ? this.#line(line.text, begin.length, indent)
          : this.#below(line, begin, indent);
      addEntry(entries, name, value);
    }
    return mapOf(entries);
  }

  /** Reads the value of a key that has no value in its own line. */
  #below({ text }: Line, begin: string, indent: number): Value {
    if (begin.length < text.length && !begin.endsWith(" ")) refuse();
    const next = this.#lines[++this.#at];
    if (next === undefined || next.indent < indent || (next.indent === indent && !isItem(next))) return nothing;
    return this.#block(next.indent);
  }

  /** Reads the value that ends its line and does not continue below. */
  #line(text: string, column: number, indent: number): Value {
    this.#column = column;
    const value = this.#value(text);
    const rest = text.slice(this.#column);
    if (rest !== "" && !/^ +#/.test(rest)) refuse();
    const next = this.#lines[++this.#at];
    if (next !== undefined && next.indent > indent) refuse();
    return value;
  }

  #value(text: string): Value {
    this.#count();
    if (++this.#depth > maxDepth) refuse();
    const first = text[this.#column];
    const value = first === "[" ? this.#list(text) : first === "{" ? this.#map(text) : this.#scalar(text);
    this.#depth--;
    return value;
  }

  #list(text: string): Value {
    const items: Value[] = [];
    while (this.#more(text, "]", items.length)) items.push(this.#value(text));
    return { kind: "list", items, size: sizeOf(items), ...nowhere };
  }

  #map(text: string): MapValue {
    const entries = new Map<string, Entry>();
    while (this.#more(text, "}", entries.size)) {
      this.#count();
      const found = matchAt(key, text, this.#column);
      if (found === null) refuse();
      const [begin, name] = found as unknown as readonly [string, string];
      this.#column += begin.length;
      addEntry(entries, name, this.#value(text));
    }
    return mapOf(entries);
  }

  /** Skips the comma before the next item; returns false after the closing bracket. */
  #more(text: string, close: string, count: number): boolean {
    const skip = () => {
      this.#column += matchAt(spaces, text, this.#column)?.[0].length ?? 0;
    };
    if (count === 0) this.#column++;
    skip();
    const closed = text[this.#column] === close;
    if (closed || count === 0) {
      if (closed) this.#column++;
      return !closed;
    }
    if (text[this.#column] !== ",") refuse();
    this.#column++;
    skip();
    return true;
  }

  #scalar(text: string): Value {
    const quote = matchAt(quoted, text, this.#column);
    if (quote !== null) {
      this.#column += quote[0].length;
      return scalar(quote[1] ?? quote[2] ?? "", quote[1] ?? quote[2] ?? "");
    }
    const [plain = ""] = matchAt(words, text, this.#column) ?? [];
    if (plain === "") refuse();
    this.#column += plain.length;
    if (plain === "true" || plain === "false") return scalar(plain === "true", plain);
    if (number.test(plain)) return scalar(Number(plain), plain);
    // A text that begins like a number may be one in another notation, unless it has a character that no notation has.
    if (special.test(plain) || (/^\d/.test(plain) && !/[/ ]/.test(plain))) refuse();
    return scalar(plain, plain);
  }
}

function refuse(): never {
  throw new NotPlain();
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function isItem(line: Line | undefined): boolean {
  return line !== undefined && (line.text === "-" || line.text.startsWith("- "));
}

function addEntry(entries: Map<string, Entry>, name: string, value: Value): void {
  if (special.test(name) || entries.has(name)) refuse();
  entries.set(name, { key: name, place: nowhere, value, merged: false });
}

function mapOf(entries: ReadonlyMap<string, Entry>): MapValue {
  let size = 1;
  for (const { value } of entries.values()) size += value.size;
  return { kind: "map", entries, size, ...nowhere };
}

function sizeOf(items: readonly Value[]): number {
  return items.reduce((sum, { size }) => sum + size, 1);
}

function scalar(value: string | number | boolean | null, text: string): Value {
  return { kind: "scalar", value, text, size: scalarSize(text), ...nowhere };
}

const nothing = scalar(null, "");
