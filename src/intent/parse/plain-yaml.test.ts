import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Problems } from "../diagnostics/problems.ts";
import { arbitraryLab } from "../lab/lab.arbitrary.ts";
import { readDocument, readIntent } from "../read/read.ts";
import { printLab } from "../write/print.ts";
import { parseYaml, type Value } from "./parse.ts";
import { plainYaml } from "./plain-yaml.ts";

/** The values without places, with keys in their order. */
function shape(value: Value): unknown {
  if (value.kind === "scalar") return { value: value.value, text: value.text };
  if (value.kind === "list") return { size: value.size, items: value.items.map(shape) };
  return { size: value.size, entries: [...value.entries.values()].map((entry) => [entry.key, entry.merged, shape(entry.value)]) };
}

/** The result of the whole parser; undefined if it reports anything. */
function parsed(text: string): unknown {
  const problems = new Problems(text);
  const root = parseYaml(text, problems)?.root;
  return root === undefined || problems.list().length > 0 ? undefined : shape(root);
}

/** Whether the text was plain. Fails if it was and the whole parser returns anything else. */
function isAgreed(text: string): boolean {
  const plain = plainYaml(text);
  if (plain !== undefined) expect(shape(plain)).toEqual(parsed(text));
  return plain !== undefined;
}

const scalars = [
  ..."0 1 00 01 12 -1 +1 1.5 1. .5 1e3 1e 0x1f 0o17 0b1 1_000 123456789012345 1234567890123456789 10.0.0.1/24 1/2 12:30 2001-01-01".split(
    " ",
  ),
  ..."true false True TRUE null Null NULL ~ yes no on off .inf .nan nan a a-b a.b a/b _ __proto__ a_b - -- --- ... ? ! & * | > % @ ` # a#b".split(
    " ",
  ),
  ..."a:b a: :a a, ,a [ ] { } [] {} [a] [a,b] {a:b} << <<: *a &a !a !!str ' \" '' \"\" 'a' \"a\" 'a''b' \"a\\nb\" 'a:' \"a: b\"".split(" "),
  ..."a b|1 2|a  b|a #b|a # b|a : b|a: b|a - b|a, b|[a, b]|[a, b, ]|[a,, b]|[ a , b ]|[a b, 1]|[[a], {b: c}]|[a: b]|[a] # c|[a]#c|[a] b".split(
    "|",
  ),
  ...'{a: b}|{a: b, c: [d]}|{a: b, a: c}|{ a: b , }|{a}|{a: }|{a:b}|{"a": b}|{true: a}|{a: {b: {c: 1.25}}}|"a" b|"a" # b|"a"#b|\'a\' : b|\'it\'\'s\'|a "b"|é|"é"|\t|a\tb'.split(
    "|",
  ),
  "",
  " ",
];
const keys = ["a", "b", "c-d", "e.f", "_", "true", "null", "1", "<<", '"q"', "k l", "__proto__", "-", "?", "x".repeat(101)];

/** Lines as no person writes them, but at edges of the grammar. */
const line = fc
  .tuple(
    fc.constantFrom(0, 0, 0, 1, 2, 2, 2, 3, 4, 4, 6),
    fc.constantFrom("", "", "", "", "- ", "- ", "-", "-  ", "- - ", "# "),
    fc.option(
      fc.oneof({ weight: 4, arbitrary: fc.constantFrom("a", "b", "c", "d", "e") }, { weight: 1, arbitrary: fc.constantFrom(...keys) }),
      {
        freq: 4,
      },
    ),
    fc.constantFrom(": ", ": ", ": ", ": ", ": ", ":", ":  ", " : ", ": # c"),
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom("", "", "", "f", "g h", "2", "'i'", "[j, k]", "{l: m}") },
      { weight: 1, arbitrary: fc.constantFrom(...scalars) },
    ),
    fc.constantFrom("", "", "", "", "", "", " ", " # c", "#"),
  )
  .map(([indent, dash, key, colon, value, end]) => `${" ".repeat(indent)}${dash}${key === null ? value : `${key}${colon}${value}`}${end}`);

test("a text that is accepted as plain has the same values in the whole parser, without a diagnostic", () => {
  let plain = 0;
  const check = (lines: readonly string[]) => {
    if (isAgreed(lines.join("\n"))) plain++;
  };
  fc.assert(fc.property(fc.array(line, { maxLength: 7 }), check), { numRuns: 20_000 });
  // Otherwise the property would prove little.
  expect(plain).toBeGreaterThan(300);
});

test("every single value reads as in the whole parser, at each place", () => {
  const places = [
    (value: string) => `a: ${value}`,
    (value: string) => `a: ${value}\nb: 1`,
    (value: string) => `a:\n  - ${value}\n  - b`,
    (value: string) => `a:\n- ${value}\n-  b: ${value}\n   c: d\n`,
    (value: string) => `a: [${value}, b]`,
    (value: string) => `a: {b: ${value}, c: d}\n\n# end`,
    (value: string) => `a: ${value}\n b`,
    (value: string) => `- ${value}\n- a`,
    (value: string) => `a:\n  ${value}\n  ${value}`,
    (value: string) => `${value}: a`,
    (value: string) => value,
  ];
  let plain = 0;
  for (const value of [...scalars, ...keys]) for (const place of places) if (isAgreed(place(value))) plain++;
  expect(plain).toBeGreaterThan(150);
});

test("a text with any one of its characters removed, doubled or moved reads the same in both parsers", () => {
  const text = `name: lab # the name
nodes:
  r1: {template: frr, cpu: 1.5, env: {A: "b c"}, exec: ["ip addr add 10.0.0.1/24 dev eth1"]}
  h1:
    template: linux
    startup-config: |-
      plain text
    start: true
links:
- endpoints: ["r1:eth1", 'h1:eth0']
  quality:
    a: {delay: 20, loss: 0.5}
- [r1, lan]
`;
  const variants = [text, text.replace(": |-\n      plain text", ": h1.conf")].flatMap((whole) =>
    Array.from(whole, (character, at) => [
      whole.slice(0, at) + whole.slice(at + 1),
      whole.slice(0, at) + character + whole.slice(at),
      whole.slice(0, at) + (whole[at + 1] ?? "") + character + whole.slice(at + 2),
    ]).flat(),
  );
  expect(variants.filter(isAgreed).length).toBeGreaterThan(variants.length / 10);
});

test("printed labs and each of the examples read the same with and without the plain parser", () => {
  const whole = (yaml: string, files: Readonly<Record<string, string>>) => {
    const { lab, diagnostics } = readDocument(yaml, files);
    return { lab, diagnostics };
  };
  fc.assert(
    fc.property(arbitraryLab({ maxNodes: 4, maxLinks: 4, hasShapes: true }), (lab) => {
      const { yaml, files } = printLab(lab);
      expect(readIntent(yaml, files)).toEqual(whole(yaml, files));
    }),
  );
  const directory = join(import.meta.dirname, "../../../labs");
  const texts = readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.ya?ml$/.test(name))
    .map((name) => readFileSync(join(directory, name), "utf8"));
  for (const text of texts) expect(readIntent(text)).toEqual(whole(text, {}));
  expect(texts.filter((text) => plainYaml(text) !== undefined).length).toBeGreaterThan(0);
});

test("a text that is too deep or has too many parts is left to the whole parser, which refuses it", () => {
  expect(plainYaml(`a: ${"[".repeat(100)}b${"]".repeat(100)}`)).toBeUndefined();
  expect(plainYaml(Array.from({ length: 100 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n"))).toBeUndefined();
  const wide = (count: number) => `a: [${Array.from({ length: count }, () => "b").join(",")}]`;
  expect(plainYaml(wide(1000))).toBeDefined();
  expect(plainYaml(wide(200_000))).toBeUndefined();
});
