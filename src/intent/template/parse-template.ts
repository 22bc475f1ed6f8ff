import { type Expression, ExpressionParser, missingElse } from "./expressions.ts";
import { TemplateError } from "./template-error.ts";

/** A part of a template. `at`: its offset. */
export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "output"; readonly value: Expression; readonly at: number }
  | { readonly kind: "set"; readonly name: string; readonly value: Expression; readonly at: number }
  | { readonly kind: "if"; readonly branches: readonly Branch[]; readonly at: number }
  | {
      readonly kind: "for";
      /** Two for the key and the value of a map. */
      readonly names: readonly string[];
      readonly list: Expression;
      readonly body: readonly Part[];
      readonly otherwise: readonly Part[];
      readonly at: number;
    };

interface Branch {
  /** Absent: else. */
  readonly condition?: Expression;
  readonly body: readonly Part[];
}

type Lexeme =
  | { readonly kind: "text"; readonly text: string; readonly at: number }
  | { readonly kind: "output" | "tag"; readonly text: string; readonly at: number };

const maxDepth = 32;
const closers = { "{{": "}}", "{%": "%}", "{#": "#}" } as const;

/** Parses a template in a subset of Jinja2. Throws TemplateError. */
export function parseTemplate(text: string): readonly Part[] {
  const reader = new BlockParser(lexemesOf(text));
  const parts = reader.parts(0);
  const left = reader.peek();
  if (left !== undefined)
    throw new TemplateError(`"${wordOf(left)}" closes nothing`, left.at, "remove it, or write the tag that it closes");
  return parts;
}

/** A tag that is alone in its line leaves no line: blanks before it and the line break behind it are removed. `{%-` and `-%}` remove all blanks and line breaks. */
function lexemesOf(source: string): readonly Lexeme[] {
  const lexemes: Lexeme[] = [];
  let at = 0;
  let trimNext: "none" | "line" | "all" = "none";
  const pushText = (end: number, trimEnd: "none" | "line" | "all") => {
    let text = source.slice(at, end);
    if (trimNext === "all") text = text.trimStart();
    else if (trimNext === "line") text = text.replace(/^\r?\n/, "");
    if (trimEnd === "all") text = text.trimEnd();
    else if (trimEnd === "line")
      text = withoutIndent(
        text,
        lexemes.length === 0 || source[at - 1] === "\n" || (trimNext === "line" && /^\r?\n/.test(source.slice(at, at + 2))),
      );
    if (text !== "") lexemes.push({ kind: "text", text, at });
  };
  while (at < source.length) {
    const open = nextOpen(source, at);
    if (open === -1) break;
    const word = source.slice(open, open + 2) as keyof typeof closers;
    const isTag = word !== "{{";
    const start = open + (source[open + 2] === "-" ? 3 : 2);
    pushText(open, source[open + 2] === "-" ? "all" : isTag ? "line" : "none");
    const close = word === "{#" ? source.indexOf("#}", start) : closeOf(source, start, closers[word]);
    if (close === -1) throw new TemplateError(`"${word}" is not closed`, open, `write ${closers[word]}`);
    const trims = source[close - 1] === "-" && close - 1 >= start;
    const inner = source.slice(start, trims ? close - 1 : close);
    at = close + 2;
    trimNext = trims ? "all" : isTag ? "line" : "none";
    if (word === "{{") lexemes.push({ kind: "output", text: inner, at: start });
    else if (word === "{%" && inner.trim() === "raw") {
      const end = /\{%-?\s*endraw\s*-?%\}/g;
      end.lastIndex = at;
      const found = end.exec(source);
      if (found === null) throw new TemplateError('"raw" is not closed', open, "write {% endraw %}");
      const raw = source.slice(at, found.index);
      lexemes.push({ kind: "text", text: trimNext === "line" ? raw.replace(/^\r?\n/, "") : raw, at });
      at = found.index + found[0].length;
      trimNext = "line";
    } else if (word === "{%") lexemes.push({ kind: "tag", text: inner, at: start });
  }
  pushText(source.length, "none");
  return lexemes;
}

function withoutIndent(text: string, isAtLineStart: boolean): string {
  const line = text.lastIndexOf("\n") + 1;
  return (line > 0 || isAtLineStart) && /^[ \t]*$/.test(text.slice(line)) ? text.slice(0, line) : text;
}

function nextOpen(source: string, from: number): number {
  for (let at = source.indexOf("{", from); at !== -1; at = source.indexOf("{", at + 1)) {
    if ("{%#".includes(source[at + 1] ?? " ")) return at;
  }
  return -1;
}

/** Returns the index of the closing characters outside of quotes. */
function closeOf(source: string, from: number, close: string): number {
  let quote = "";
  for (let at = from; at < source.length; at++) {
    const character = source[at] as string;
    if (quote !== "") {
      if (character === "\\") at++;
      else if (character === quote) quote = "";
    } else if (character === '"' || character === "'") quote = character;
    else if (source.startsWith(close, at)) return at;
  }
  return -1;
}

const tagWord = /^\s*([a-z]+)\b/;

function wordOf(lexeme: Lexeme): string {
  return lexeme.kind === "tag" ? (tagWord.exec(lexeme.text)?.[1] ?? "") : "";
}

class BlockParser {
  readonly #lexemes: readonly Lexeme[];
  #next = 0;

  constructor(lexemes: readonly Lexeme[]) {
    this.#lexemes = lexemes;
  }

  peek(): Lexeme | undefined {
    return this.#lexemes[this.#next];
  }

  /** Returns the parts up to a tag that belongs to the block around them. */
  parts(depth: number): readonly Part[] {
    const parts: Part[] = [];
    for (let lexeme = this.peek(); lexeme !== undefined; lexeme = this.peek()) {
      const { text, at } = lexeme;
      if (["elif", "else", "endif", "endfor"].includes(wordOf(lexeme))) break;
      this.#next++;
      if (lexeme.kind === "text") parts.push({ kind: "text", text });
      else if (lexeme.kind === "output") parts.push({ kind: "output", value: whole(text, at), at });
      else parts.push(this.#tag(lexeme, depth));
    }
    return parts;
  }

  #tag(lexeme: Lexeme, depth: number): Part {
    const { text, at } = lexeme;
    if (depth >= maxDepth) throw new TemplateError(`nested deeper than ${maxDepth} blocks`, at);
    const word = wordOf(lexeme);
    const rest = text.slice(tagWord.exec(text)?.[0].length ?? 0);
    const restAt = at + text.length - rest.length;
    if (word === "if") return this.#if(rest, restAt, at, depth);
    if (word === "for") return this.#for(rest, restAt, at, depth);
    const [all, name = ""] = word === "set" ? (/^\s+([A-Za-z_]\w*)\s*=(?!=)/.exec(rest) ?? []) : [];
    if (all !== undefined) return { kind: "set", name, value: whole(rest.slice(all.length), restAt + all.length), at };
    if (word === "set") throw new TemplateError("this is not an assignment", at, "write {% set name = value %}");
    throw new TemplateError(`unknown tag ${JSON.stringify(word || text.trim().slice(0, 20))}`, at, "tags: for, if, elif, else, set, raw");
  }

  #if(rest: string, restAt: number, at: number, depth: number): Part {
    const branches: Branch[] = [{ condition: whole(rest, restAt), body: this.parts(depth + 1) }];
    for (;;) {
      const { word, text, at: here } = this.#closing("if", at);
      if (word === "endif") return { kind: "if", branches, at };
      const isElse = word === "else";
      if (word === "endfor" || branches.at(-1)?.condition === undefined)
        throw new TemplateError(`"${word}" is not expected here`, here, "write {% endif %}");
      branches.push({ ...(!isElse && { condition: whole(text, here) }), body: this.parts(depth + 1) });
    }
  }

  #for(rest: string, restAt: number, at: number, depth: number): Part {
    const [all, first, second] = /^\s+([A-Za-z_]\w*)(?:\s*,\s*([A-Za-z_]\w*))?\s+in\b/.exec(rest) ?? [];
    if (all === undefined || first === undefined) throw new TemplateError("this is not a loop", at, "write {% for name in list %}");
    const list = this.#list(rest.slice(all.length), restAt + all.length);
    const body = this.parts(depth + 1);
    let closing = this.#closing("for", at);
    const otherwise = closing.word === "else" ? this.parts(depth + 1) : [];
    if (closing.word === "else") closing = this.#closing("for", at);
    if (closing.word !== "endfor") throw new TemplateError(`"${closing.word}" is not expected here`, closing.at, "write {% endfor %}");
    return { kind: "for", names: second === undefined ? [first] : [first, second], list, body, otherwise, at };
  }

  #list(text: string, at: number): Expression {
    try {
      return whole(text, at);
    } catch (error) {
      if (!(error instanceof TemplateError) || error.message !== missingElse) throw error;
      throw new TemplateError("a loop has no condition", at + text.search(/\bif\b/), "put {% if %} inside it");
    }
  }

  #closing(block: string, opened: number): { readonly word: string; readonly text: string; readonly at: number } {
    const lexeme = this.peek();
    if (lexeme === undefined) throw new TemplateError(`"${block}" is not closed`, opened, `write {% end${block} %}`);
    this.#next++;
    const length = tagWord.exec(lexeme.text)?.[0].length ?? 0;
    return { word: wordOf(lexeme), text: lexeme.text.slice(length), at: lexeme.at + length };
  }
}

function whole(text: string, at: number): Expression {
  return new ExpressionParser(text, at).whole();
}
