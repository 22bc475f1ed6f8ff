import type { Expression } from "./expressions.ts";
import { filters } from "./filters.ts";
import type { Part } from "./parse-template.ts";
import { TemplateError } from "./template-error.ts";
import { type Budget, type Data, isList, isMap, searchSteps, sizeOf, textOf } from "./values.ts";

/** Returns the text of a template with the data. Throws TemplateError for a mistake, and if the budget or the length is exceeded. */
export function renderTemplate(
  parts: readonly Part[],
  data: ReadonlyMap<string, Data>,
  limits: { readonly budget: Budget; readonly maxLength: number },
): string {
  const rendering = new Rendering(data, limits);
  rendering.all(parts);
  return rendering.text();
}

class Rendering {
  readonly #scopes: Map<string, Data>[];
  readonly #data: ReadonlyMap<string, Data>;
  readonly #budget: Budget;
  readonly #maxLength: number;
  readonly #chunks: string[] = [];
  #length = 0;

  constructor(data: ReadonlyMap<string, Data>, { budget, maxLength }: { readonly budget: Budget; readonly maxLength: number }) {
    this.#data = data;
    this.#scopes = [new Map()];
    this.#budget = budget;
    this.#maxLength = maxLength;
  }

  text(): string {
    return this.#chunks.join("");
  }

  all(parts: readonly Part[]): void {
    for (const part of parts) this.#part(part);
  }

  #part(part: Part): void {
    if (part.kind === "text") {
      this.#write(part.text, 0);
      return;
    }
    this.#budget.use(1, part.at);
    if (part.kind === "output") this.#write(textOf(this.#defined(part.value), part.at), part.at);
    else if (part.kind === "set") this.#scopes.at(-1)?.set(part.name, this.#defined(part.value));
    else if (part.kind === "if") {
      const taken = part.branches.find(({ condition }) => condition === undefined || isTrue(this.#value(condition)));
      this.all(taken?.body ?? []);
    } else this.#for(part);
  }

  #for({ names, list, body, otherwise, at }: Extract<Part, { kind: "for" }>): void {
    const value = this.#defined(list);
    if (!isList(value) && !isMap(value)) throw new TemplateError("a loop needs a list or a map", list.at);
    const items: readonly Data[] = isList(value) ? value : [...value].map(([key, one]) => (names.length === 2 ? [key, one] : key));
    this.#budget.use(items.length, at);
    if (items.length === 0) this.all(otherwise);
    for (const [index, item] of items.entries()) {
      this.#budget.use(1, at);
      const scope = new Map<string, Data>();
      if (names.length === 1) scope.set(names[0] as string, item);
      else {
        if (!isList(item) || item.length !== 2) throw new TemplateError("a loop with two names needs pairs or a map", list.at);
        for (const [position, name] of names.entries()) scope.set(name, item[position] as Data);
      }
      const { length } = items;
      scope.set(
        "loop",
        new Map<string, Data>([
          ["index", index + 1],
          ["index0", index],
          ["first", index === 0],
          ["last", index === length - 1],
          ["length", length],
        ]),
      );
      this.#scopes.push(scope);
      this.all(body);
      this.#scopes.pop();
    }
  }

  #write(text: string, at: number): void {
    this.#length += text.length;
    this.#budget.use(1 + (text.length >> 4), at);
    if (this.#length > this.#maxLength) throw new TemplateError(`the result has more than ${this.#maxLength} characters`, at);
    this.#chunks.push(text);
  }

  /** Returns the value; throws for one that is not defined, so that a typing error is found. */
  #defined(expression: Expression): Data {
    const value = this.#value(expression);
    if (value !== undefined) return value;
    const name = nameOf(expression);
    throw new TemplateError(
      `${name === undefined ? "the value" : JSON.stringify(name)} is not defined`,
      expression.at,
      this.#hint(expression),
    );
  }

  #hint(expression: Expression): string | undefined {
    const owner = expression.kind === "get" ? this.#value(expression.of) : undefined;
    const names =
      expression.kind === "name"
        ? [...this.#data.keys(), ...this.#scopes.flatMap((scope) => [...scope.keys()])]
        : isMap(owner)
          ? [...owner.keys()]
          : [];
    return names.length === 0
      ? undefined
      : `known: ${[...new Set(names)].slice(0, 20).join(", ")}; for a value that may be missing, write | default("")`;
  }

  /** `undefined`: not defined. */
  #value(expression: Expression): Data | undefined {
    this.#budget.use(1, expression.at);
    switch (expression.kind) {
      case "literal":
        return expression.value;
      case "list":
        return expression.items.map((item) => this.#defined(item));
      case "name":
        return this.#name(expression.name);
      case "get":
        return this.#get(expression);
      case "not":
        return !isTrue(this.#value(expression.value));
      case "minus":
        return -numberOf(this.#defined(expression.value), expression.at);
      case "choice":
        return this.#value(isTrue(this.#value(expression.condition)) ? expression.then : expression.otherwise);
      case "test": {
        const value = this.#value(expression.value);
        const passes = expression.name === "none" ? value === null : (value !== undefined) === (expression.name === "defined");
        return passes !== expression.isNegated;
      }
      case "filter":
        return this.#filter(expression);
      case "binary":
        return this.#binary(expression);
    }
  }

  #name(name: string): Data | undefined {
    for (let at = this.#scopes.length - 1; at >= 0; at--) {
      const scope = this.#scopes[at] as Map<string, Data>;
      if (scope.has(name)) return scope.get(name);
    }
    return this.#data.get(name);
  }

  /** Values are lists, maps and scalars without any properties: only entries can be read. */
  #get({ of, key, at }: Extract<Expression, { kind: "get" }>): Data | undefined {
    const owner = this.#defined(of);
    const name = this.#defined(key);
    this.#budget.use(sizeOf(name), at);
    if (isMap(owner)) return owner.get(textOf(name, at));
    if (isList(owner) && typeof name === "number") return owner.at(name);
    if (owner === null) return undefined;
    throw new TemplateError(
      `${isList(owner) ? "the entries of a list have numbers:" : "this value is not a map:"} ${JSON.stringify(textOf(name, at))} is not in it`,
      at,
    );
  }

  #filter({ name, value, inputs, named, at }: Extract<Expression, { kind: "filter" }>): Data {
    if (name === "default" || name === "d") {
      const found = this.#value(value);
      const [other, also] = inputs;
      const isTaken = found === undefined || found === null || (also !== undefined && isTrue(this.#value(also)) && !isTrue(found));
      if (!isTaken) return found;
      return other === undefined ? "" : this.#defined(other);
    }
    const filter = filters.get(name);
    if (filter === undefined)
      throw new TemplateError(`unknown filter ${JSON.stringify(name)}`, at, `filters: default, ${[...filters.keys()].join(", ")}`);
    const subject = this.#defined(value);
    const values = inputs.map((input) => this.#defined(input));
    const words = new Map([...named].map(([key, input]) => [key, this.#defined(input)]));
    this.#budget.use(sizeOf(subject), at);
    const result = filter({ value: subject, inputs: values, named: words, at, budget: this.#budget });
    this.#budget.use(sizeOf(result), at);
    return result;
  }

  #binary({ operator, left, right, at }: Extract<Expression, { kind: "binary" }>): Data {
    if (operator === "and" || operator === "or") {
      const first = this.#value(left);
      const isDecided = isTrue(first) === (operator === "or");
      return (isDecided ? first : this.#value(right)) ?? null;
    }
    const [a, b] = [this.#defined(left), this.#defined(right)];
    if (operator === "~" || (operator === "+" && typeof a === "string" && typeof b === "string")) {
      const text = textOf(a, at) + textOf(b, at);
      this.#budget.use(text.length >> 4, at);
      if (text.length > this.#maxLength) throw new TemplateError(`the text has more than ${this.#maxLength} characters`, at);
      return text;
    }
    this.#budget.use(Math.max(sizeOf(a), sizeOf(b)), at);
    if (operator === "==" || operator === "!=") return equal(a, b) === (operator === "==");
    if (operator === "in") {
      this.#budget.use(membershipSteps(a, b), at);
      return isIn(a, b, at);
    }
    if (["<", ">", "<=", ">="].includes(operator)) return compares(operator, a, b, at);
    return arithmetic(operator, numberOf(a, at), numberOf(b, at), at);
  }
}

function nameOf(expression: Expression): string | undefined {
  if (expression.kind === "name") return expression.name;
  if (expression.kind !== "get" || expression.key.kind !== "literal") return undefined;
  const owner = nameOf(expression.of);
  return owner === undefined ? String(expression.key.value) : `${owner}.${expression.key.value}`;
}

function isTrue(value: Data | undefined): boolean {
  if (isList(value)) return value.length > 0;
  return isMap(value) ? value.size > 0 : Boolean(value);
}

/** Lists and maps are equal only to themselves. */
function equal(a: Data, b: Data): boolean {
  return a === b;
}

/** Work of `a in b`, at worst: a text is compared with all items of its length, or looked for at all places of a text. */
function membershipSteps(a: Data, b: Data): number {
  if (typeof a !== "string") return 0;
  if (typeof b === "string") return searchSteps(b, a);
  return isList(b) ? b.filter((item) => typeof item === "string" && item.length === a.length).length * sizeOf(a) : 0;
}

function isIn(a: Data, b: Data, at: number): boolean {
  if (isList(b)) return b.includes(a);
  if (isMap(b)) return b.has(textOf(a, at));
  if (typeof b === "string") return b.includes(textOf(a, at));
  throw new TemplateError('"in" needs a list, a map or a text', at);
}

function compares(operator: string, a: Data, b: Data, at: number): boolean {
  const isComparable = (typeof a === "number" && typeof b === "number") || (typeof a === "string" && typeof b === "string");
  if (!isComparable) throw new TemplateError(`${operator} compares two numbers or two texts`, at);
  const order = a < b ? -1 : a > b ? 1 : 0;
  if (operator === "<") return order < 0;
  if (operator === ">") return order > 0;
  return operator === "<=" ? order <= 0 : order >= 0;
}

function arithmetic(operator: string, a: number, b: number, at: number): number {
  if (["/", "//", "%"].includes(operator) && b === 0) throw new TemplateError("a division by zero", at);
  if (operator === "+") return a + b;
  if (operator === "-") return a - b;
  if (operator === "*") return a * b;
  if (operator === "/") return a / b;
  // As in Python, the remainder has the sign of the divisor.
  return operator === "//" ? Math.floor(a / b) : a - b * Math.floor(a / b);
}

function numberOf(value: Data, at: number): number {
  if (typeof value === "number") return value;
  throw new TemplateError("a number is needed here", at, "a text becomes a number with | int");
}
