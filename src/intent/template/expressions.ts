import { TemplateError } from "./template-error.ts";

/** An expression. `at`: its offset in the template. */
export type Expression =
  | { readonly kind: "literal"; readonly value: string | number | boolean | null; readonly at: number }
  | { readonly kind: "list"; readonly items: readonly Expression[]; readonly at: number }
  | { readonly kind: "name"; readonly name: string; readonly at: number }
  | { readonly kind: "get"; readonly of: Expression; readonly key: Expression; readonly at: number }
  | { readonly kind: "not" | "minus"; readonly value: Expression; readonly at: number }
  | { readonly kind: "binary"; readonly operator: string; readonly left: Expression; readonly right: Expression; readonly at: number }
  | { readonly kind: "test"; readonly name: string; readonly value: Expression; readonly isNegated: boolean; readonly at: number }
  | {
      readonly kind: "choice";
      readonly condition: Expression;
      readonly then: Expression;
      readonly otherwise: Expression;
      readonly at: number;
    }
  | {
      readonly kind: "filter";
      readonly name: string;
      readonly value: Expression;
      readonly inputs: readonly Expression[];
      /** map(attribute="name"). */
      readonly named: ReadonlyMap<string, Expression>;
      readonly at: number;
    };

interface Token {
  readonly kind: "text" | "number" | "word" | "sign" | "end";
  readonly text: string;
  readonly at: number;
}

const tokenPattern =
  /\s*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(\d+(?:\.\d+)?)|([A-Za-z_]\w*)|(==|!=|<=|>=|\/\/|[<>=+\-*/%~|.,()[\]]))/sy;
const constants: Readonly<Record<string, boolean | null>> = { true: true, True: true, false: false, False: false, none: null, None: null };
const keywords = new Set(["and", "or", "not", "in", "is", "if", "else"]);
const comparisons = ["==", "!=", "<=", ">=", "<", ">", "in"];
/** The tests of `is`. */
export const testNames = ["defined", "undefined", "none"];

/** The message for `a if condition`. */
export const missingElse = '"if" in an expression needs "else"';

const maxDepth = 32;
/** An expression is evaluated by recursion. */
const maxTokens = 1000;

/** Parses one expression. */
export class ExpressionParser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(text: string, at: number) {
    this.#tokens = tokensOf(text, at);
  }

  whole(): Expression {
    const expression = this.#choice();
    const left = this.#peek();
    const hint = left.kind === "sign" && left.text === "=" ? "write == to compare" : undefined;
    if (left.kind !== "end") throw new TemplateError(`${JSON.stringify(left.text)} is not expected here`, left.at, hint);
    return expression;
  }

  /** a if condition else b */
  #choice(): Expression {
    if (++this.#depth > maxDepth) throw new TemplateError(`an expression is nested deeper than ${maxDepth} levels`, this.#peek().at);
    const then = this.#or();
    let result = then;
    if (this.#takeWord("if")) {
      const condition = this.#or();
      if (!this.#takeWord("else")) throw new TemplateError(missingElse, this.#peek().at, "write: a if condition else b");
      result = { kind: "choice", condition, then, otherwise: this.#choice(), at: then.at };
    }
    this.#depth--;
    return result;
  }

  #or(): Expression {
    return this.#left(["or"], () => this.#left(["and"], () => this.#not()));
  }

  #not(): Expression {
    const { at } = this.#peek();
    let count = 0;
    while (this.#takeWord("not")) count++;
    const value = this.#comparison();
    return count === 0 ? value : { kind: "not", value: count % 2 === 1 ? value : { kind: "not", value, at }, at };
  }

  #comparison(): Expression {
    let left = this.#sum();
    for (;;) {
      const { text, at } = this.#peek();
      if (this.#takeWord("is")) {
        const isNegated = this.#takeWord("not");
        const test = this.#peek();
        this.#next++;
        if (!testNames.includes(test.text))
          throw new TemplateError(`unknown test ${JSON.stringify(test.text)}`, test.at, `tests: ${testNames.join(", ")}`);
        left = { kind: "test", name: test.text, value: left, isNegated, at };
      } else if (text === "not" && this.#tokens[this.#next + 1]?.text === "in") {
        this.#next += 2;
        left = { kind: "not", value: { kind: "binary", operator: "in", left, right: this.#sum(), at }, at };
      } else if (comparisons.includes(text) && this.#peek().kind !== "text") {
        this.#next++;
        left = { kind: "binary", operator: text, left, right: this.#sum(), at };
      } else return left;
    }
  }

  #sum(): Expression {
    return this.#left(["+", "-", "~"], () => this.#left(["*", "/", "//", "%"], () => this.#unary()));
  }

  #left(operators: readonly string[], operand: () => Expression): Expression {
    let left = operand();
    for (let token = this.#peek(); token.kind !== "text" && operators.includes(token.text); token = this.#peek()) {
      this.#next++;
      left = { kind: "binary", operator: token.text, left, right: operand(), at: token.at };
    }
    return left;
  }

  #unary(): Expression {
    const { at } = this.#peek();
    return this.#takeSign("-") ? { kind: "minus", value: this.#postfix(), at } : this.#postfix();
  }

  #postfix(): Expression {
    let value = this.#primary();
    for (;;) {
      const { at } = this.#peek();
      if (this.#takeSign(".")) {
        const name = this.#word("a name follows the dot");
        value = { kind: "get", of: value, key: { kind: "literal", value: name.text, at: name.at }, at: name.at };
      } else if (this.#takeSign("[")) {
        const key = this.#choice();
        this.#close("]");
        value = { kind: "get", of: value, key, at };
      } else if (this.#takeSign("|")) value = this.#filter(value);
      else if (this.#peek().text === "(" && this.#peek().kind === "sign") {
        throw new TemplateError("templates call no functions", at, 'filters, such as | join(", "), have parentheses');
      } else return value;
    }
  }

  #filter(value: Expression): Expression {
    const { text: name, at } = this.#word("the name of a filter follows the bar");
    const inputs: Expression[] = [];
    const named = new Map<string, Expression>();
    if (this.#takeSign("(")) {
      while (!this.#takeSign(")")) {
        if (inputs.length + named.size > 0) this.#close(",");
        const key = this.#peek();
        if (key.kind === "word" && this.#tokens[this.#next + 1]?.text === "=") {
          this.#next += 2;
          named.set(key.text, this.#choice());
        } else inputs.push(this.#choice());
      }
    }
    return { kind: "filter", name, value, inputs, named, at };
  }

  #primary(): Expression {
    const { kind, text, at } = this.#peek();
    this.#next++;
    if (kind === "text") return { kind: "literal", value: unquoted(text), at };
    if (kind === "number") return { kind: "literal", value: Number(text), at };
    if (kind === "word" && Object.hasOwn(constants, text)) return { kind: "literal", value: constants[text] ?? null, at };
    if (kind === "word" && !keywords.has(text)) return { kind: "name", name: text, at };
    if (text === "(" && kind === "sign") {
      const inner = this.#choice();
      this.#close(")");
      return inner;
    }
    if (text === "[" && kind === "sign") {
      const items: Expression[] = [];
      while (!this.#takeSign("]")) {
        if (items.length > 0) this.#close(",");
        items.push(this.#choice());
      }
      return { kind: "list", items, at };
    }
    throw new TemplateError(kind === "end" ? "a value is missing" : `${JSON.stringify(text)} is not a value`, at);
  }

  #peek(): Token {
    return this.#tokens[this.#next] ?? (this.#tokens.at(-1) as Token);
  }

  #takeWord(word: string): boolean {
    const { kind, text } = this.#peek();
    if (kind !== "word" || text !== word) return false;
    this.#next++;
    return true;
  }

  #takeSign(sign: string): boolean {
    const { kind, text } = this.#peek();
    if (kind !== "sign" || text !== sign) return false;
    this.#next++;
    return true;
  }

  #word(otherwise: string): Token {
    const token = this.#peek();
    if (token.kind !== "word") throw new TemplateError(otherwise, token.at);
    this.#next++;
    return token;
  }

  #close(sign: string): void {
    const { at, kind, text } = this.#peek();
    if (!this.#takeSign(sign))
      throw new TemplateError(`${JSON.stringify(sign)} is missing${kind === "end" ? "" : ` before ${JSON.stringify(text)}`}`, at);
  }
}

function tokensOf(text: string, at: number): readonly Token[] {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < end) {
    const from = tokenPattern.lastIndex;
    const found = tokenPattern.exec(text);
    if (found === null) {
      const wrong = text.slice(from).trimStart();
      throw new TemplateError(`${JSON.stringify(wrong.slice(0, 1))} is not expected here`, at + text.length - wrong.length);
    }
    const [all, quoted, number, word, sign = ""] = found;
    if (tokens.length === maxTokens) throw new TemplateError(`an expression has more than ${maxTokens} words`, at);
    const own = quoted ?? number ?? word ?? sign;
    const kind = quoted !== undefined ? "text" : number !== undefined ? "number" : word !== undefined ? "word" : "sign";
    tokens.push({ kind, text: own, at: at + found.index + all.length - own.length });
  }
  tokens.push({ kind: "end", text: "", at: at + end });
  return tokens;
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

function unquoted(text: string): string {
  return text.slice(1, -1).replace(/\\(.)/gs, (_, character: string) => escapes[character] ?? character);
}
