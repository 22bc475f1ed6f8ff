import { TemplateError } from "./template-error.ts";
import { type Budget, type Data, isList, isMap, searchSteps, sizeOf, textOf } from "./values.ts";

interface Call {
  readonly value: Data;
  readonly inputs: readonly Data[];
  readonly named: ReadonlyMap<string, Data>;
  readonly at: number;
  readonly budget: Budget;
}

type Filter = (call: Call) => Data;

/** Maximum characters of one text. */
const maxText = 1_048_576;

/** The filters of templates, with the names and the meaning of Jinja2. All are functions of their values alone: none has a time or randomness. */
export const filters: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ["first", ({ value, at }) => listOf(value, at)[0] ?? null],
  ["int", ({ value, at }) => toInt(value, at)],
  ["items", ({ value, at }) => (isMap(value) ? [...value].map(([key, one]): Data => [key, one]) : wrong("a map", at))],
  ["join", join],
  ["last", ({ value, at }) => listOf(value, at).at(-1) ?? null],
  ["length", ({ value, at }) => (typeof value === "string" ? value.length : isMap(value) ? value.size : listOf(value, at).length)],
  ["lower", ({ value, at }) => textOf(value, at).toLowerCase()],
  ["map", ({ value, named, at }) => listOf(value, at).map((item) => attributeOf(item, named, at))],
  ["replace", replace],
  ["reverse", ({ value, at }) => [...listOf(value, at)].reverse()],
  ["sort", sort],
  ["string", ({ value, at }) => textOf(value, at)],
  ["trim", ({ value, at }) => textOf(value, at).trim()],
  ["unique", unique],
  ["upper", ({ value, at }) => textOf(value, at).toUpperCase()],
]);

function join({ value, inputs: [separator = ""], named, at, budget }: Call): Data {
  const between = textOf(separator, at);
  const items = listOf(value, at);
  const texts = named.has("attribute")
    ? items.map((item) => textOf(attributeOf(item, named, at), at))
    : items.map((item) => textOf(item, at));
  const length = texts.reduce((sum, { length: own }) => sum + own + between.length, 0);
  bounded(length, at);
  budget.use(length >> 4, at);
  return texts.join(between);
}

function replace({ value, inputs: [before, after], at, budget }: Call): Data {
  if (before === undefined || after === undefined) throw new TemplateError("replace needs two texts", at, 'write | replace("a", "b")');
  const [text, from, to] = [textOf(value, at), textOf(before, at), textOf(after, at)];
  if (from === "") throw new TemplateError("replace needs a text to look for", at);
  budget.use(searchSteps(text, from), at);
  const parts = text.split(from);
  const length = text.length + (parts.length - 1) * to.length;
  bounded(length, at);
  budget.use(length >> 4, at);
  return parts.join(to);
}

function sort({ value, named, at, budget }: Call): Data {
  const list = listOf(value, at);
  const keys = list.map((item) => ({ item, key: named.has("attribute") ? attributeOf(item, named, at) : item }));
  // Each key is compared about as often as the list can be halved.
  const rounds = Math.ceil(Math.log2(list.length + 1));
  budget.use(list.length * 16 + rounds * keys.reduce((sum, { key }) => sum + sizeOf(key), 0), at);
  const isAll = (type: string) => keys.every(({ key }) => typeof key === type);
  if (!isAll("string") && !isAll("number"))
    throw new TemplateError("only numbers or texts are sorted", at, 'write | sort(attribute="name")');
  return keys
    .sort((a, b) => ((a.key as string) < (b.key as string) ? -1 : (a.key as string) > (b.key as string) ? 1 : 0))
    .map(({ item }) => item);
}

/** Maximum characters of a text in a set. Engines hash much longer texts by their lengths alone, and then compare each with each. */
const maxUniqueText = 10_000;

function unique({ value, at, budget }: Call): Data {
  const list = listOf(value, at);
  if (list.some((item) => typeof item === "string" && item.length > maxUniqueText))
    throw new TemplateError(`unique compares texts of at most ${maxUniqueText} characters`, at);
  budget.use(
    list.reduce<number>((sum, item) => sum + 1 + sizeOf(item), 0),
    at,
  );
  return [...new Set(list)];
}

function attributeOf(item: Data, named: ReadonlyMap<string, Data>, at: number): Data {
  const name = named.get("attribute");
  if (typeof name !== "string") throw new TemplateError("the filter needs an attribute", at, 'write | map(attribute="name")');
  const found = isMap(item) ? item.get(name) : undefined;
  if (found === undefined) throw new TemplateError(`an item has no ${JSON.stringify(name)}`, at);
  return found;
}

function toInt(value: Data, at: number): number {
  if (typeof value === "number") return Math.trunc(value);
  const text = typeof value === "string" ? value.trim() : "";
  return /^[-+]?\d{1,15}$/.test(text) ? Number(text) : wrong("a whole number", at);
}

function listOf(value: Data, at: number): readonly Data[] {
  return isList(value) ? value : wrong("a list", at);
}

function bounded(length: number, at: number): void {
  if (length > maxText) throw new TemplateError(`the text has more than ${maxText} characters`, at);
}

function wrong(what: string, at: number): never {
  throw new TemplateError(`the filter needs ${what}`, at);
}
