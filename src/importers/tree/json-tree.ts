import { refuse } from "./refuse.ts";
import { maxDepth, maxValues, type SourceEntry, type SourceNode, scalar } from "./source-tree.ts";

const literals: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };
const numberToken = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const wordToken = /[a-z]+/y;

/** Parses JSON into a tree with lines. Of a repeated key the last value counts, as for JSON.parse. Throws invalid_source. */
export function jsonTree(text: string, file: string): SourceNode {
  return new JsonReader(text, file).document();
}

class JsonReader {
  readonly #text: string;
  readonly #file: string;
  #at = 0;
  #line = 1;
  #values = 0;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
  }

  document(): SourceNode {
    const value = this.#value(1);
    this.#blanks();
    if (this.#at < this.#text.length) this.#refuse("text behind the end of the JSON value");
    return value;
  }

  #value(depth: number): SourceNode {
    if (depth > maxDepth) this.#refuse(`nested deeper than ${maxDepth} levels`);
    if (++this.#values > maxValues) this.#refuse(`more than ${maxValues} values`);
    this.#blanks();
    const line = this.#line;
    const next = this.#text[this.#at];
    if (next === "{") return { kind: "map", entries: this.#entries(depth), line };
    if (next === "[") return { kind: "list", items: this.#items(depth), line };
    if (next === '"') return scalar(this.#string(), line);
    const number = this.#token(numberToken);
    if (number !== undefined) return scalar(Number(number), line, number);
    const word = this.#token(wordToken);
    if (word !== undefined && Object.hasOwn(literals, word)) return scalar(literals[word] ?? null, line, word === "null" ? "" : word);
    return this.#refuse("the file is not JSON: a value is missing");
  }

  #entries(depth: number): ReadonlyMap<string, SourceEntry> {
    const entries = new Map<string, SourceEntry>();
    this.#sequence("}", () => {
      this.#blanks();
      const line = this.#line;
      if (this.#text[this.#at] !== '"') this.#refuse("the file is not JSON: a key in quotes is missing");
      const key = this.#string();
      this.#blanks();
      if (this.#text[this.#at] !== ":") this.#refuse("the file is not JSON: a colon is missing");
      this.#at++;
      entries.set(key, { node: this.#value(depth + 1), line });
    });
    return entries;
  }

  #items(depth: number): readonly SourceNode[] {
    const items: SourceNode[] = [];
    this.#sequence("]", () => items.push(this.#value(depth + 1)));
    return items;
  }

  /** Reads what is between the bracket at this place and its end, separated by commas. */
  #sequence(end: string, read: () => void): void {
    this.#at++;
    this.#blanks();
    if (this.#text[this.#at] === end) {
      this.#at++;
      return;
    }
    for (;;) {
      read();
      this.#blanks();
      const next = this.#text[this.#at++];
      if (next === end) return;
      if (next !== ",") this.#refuse(`the file is not JSON: a comma or ${end} is missing`);
    }
  }

  #string(): string {
    const start = this.#at;
    for (let at = start + 1; at < this.#text.length; at++) {
      const character = this.#text[at];
      if (character === "\\") at++;
      else if (character === "\n") break;
      else if (character === '"') {
        this.#at = at + 1;
        try {
          return JSON.parse(this.#text.slice(start, at + 1)) as string;
        } catch {
          break;
        }
      }
    }
    return this.#refuse("the file is not JSON: a text in quotes does not end, or has a wrong escape");
  }

  #token(expression: RegExp): string | undefined {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #blanks(): void {
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at];
      if (character === "\n") this.#line++;
      else if (character !== " " && character !== "\t" && character !== "\r") return;
    }
  }

  #refuse(message: string): never {
    return refuse(message, { file: this.#file, line: this.#line });
  }
}
