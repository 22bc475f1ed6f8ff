import fc from "fast-check";
import { expect, test } from "vitest";
import { parseTemplate } from "./parse-template.ts";
import { renderTemplate } from "./render-template.ts";
import { TemplateError } from "./template-error.ts";
import { Budget, type Data } from "./values.ts";

const data = new Map<string, Data>([
  ["name", "r1"],
  ["number", 7],
  ["nothing", null],
  ["yes", true],
  ["empty", []],
  ["list", ["b", "a", "c"]],
  ["numbers", [10, 9, 2]],
  ["node", new Map<string, Data>([["labels", new Map([["role", "core"]])]])],
  [
    "interfaces",
    [
      new Map<string, Data>([
        ["name", "eth1"],
        ["cost", 20],
      ]),
      new Map<string, Data>([
        ["name", "eth2"],
        ["cost", 10],
      ]),
    ],
  ],
]);

function render(template: string, steps = 100_000, maxLength = 100_000): string {
  return renderTemplate(parseTemplate(template), data, { budget: new Budget(steps), maxLength });
}

function mistake(template: string, steps?: number, maxLength?: number): { readonly message: string; readonly at: number } {
  try {
    render(template, steps, maxLength);
  } catch (error) {
    if (error instanceof TemplateError) return { message: error.message, at: error.at };
    throw error;
  }
  throw new Error("the template was rendered");
}

test.each([
  ["{{ name }} {{ number }} {{ nothing }}|{{ yes }}", "r1 7 |true"],
  ["{{ 'a' }}{{ \"b\\n\" }}{{ 1.5 }}{{ -number }}", "ab\n1.5-7"],
  ["{{ node.labels.role }} {{ node['labels'].role }} {{ list[0] }} {{ list[-1] }}", "core core b c"],
  ["{{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 'r' ~ 1 }} {{ 'a' + 'b' }}", "7 9 3 2 3.5 r1 ab"],
  ["{{ 1 < 2 and 2 >= 2 and not 1 == 2 }} {{ 'a' in list }} {{ 'x' not in list }} {{ 'ore' in node.labels.role }}", "true true true true"],
  ["{{ missing | default('x') }} {{ nothing | default('y') }} {{ '' | default('z', true) }} {{ node.nope | d(1) }}", "x y z 1"],
  ["{{ missing is defined }} {{ name is defined }} {{ nothing is none }} {{ name is not none }}", "false true true true"],
  ["{{ 'a' if number > 5 else 'b' }}{{ missing or 'other' }}", "aother"],
  ["{{ list | sort | join('-') | upper }} {{ numbers | sort | first }} {{ list | length }} {{ list | reverse | last }}", "A-B-C 2 3 b"],
  [
    "{{ interfaces | map(attribute='name') | join(', ') }} {{ interfaces | sort(attribute='cost') | map(attribute='name') | first }}",
    "eth1, eth2 eth2",
  ],
  ["{{ 'a.b.c' | replace('.', '/') }} {{ ' x ' | trim }} {{ '12' | int + 1 }} {{ [1, 1, 2] | unique | length }}", "a/b/c x 13 2"],
  ["{% for one in interfaces %}{{ loop.index }}{{ one.name }}{% if not loop.last %},{% endif %}{% endfor %}", "1eth1,2eth2"],
  [
    "{% for key, value in node.labels %}{{ key }}={{ value }}{% endfor %}{% for one in empty %}x{% else %}none{% endfor %}",
    "role=corenone",
  ],
  ["{% set x = 1 %}{% for one in list %}{% set x = 2 %}{% endfor %}{{ x }}", "1"],
  ["{% if number == 1 %}one{% elif number == 7 %}seven{% else %}other{% endif %}", "seven"],
  ["{# no {{ output }} #}{% raw %}{{ name }} {% if %}{% endraw %}", "{{ name }} {% if %}"],
  ["a\n  {% if yes %}\n b\n  {% endif %}\nc\n", "a\n b\nc\n"],
  ["a\n{%- if yes -%}\n b\n{%- endif %}\nc", "abc"],
  ["a  {{- name -}}  b { c } {x}", "ar1b { c } {x}"],
  ["<&>\"' {{ '<' }}", "<&>\"' <"],
])("%s renders as %j", (template, text) => {
  expect(render(template)).toBe(text);
});

test.each([
  ["{{ mising }}", '"mising" is not defined', 3],
  ["x {{ node.labels.nope }}", '"node.labels.nope" is not defined', 17],
  ["{{ name.length }}", 'this value is not a map: "length" is not in it', 8],
  ["{{ name }", '"{{" is not closed', 0],
  ["{% if yes %}x", '"if" is not closed', 2],
  ["{% for x in list %}{% endif %}", '"endif" is not expected here', 27],
  ["{% endfor %}", '"endfor" closes nothing', 2],
  ["{% include 'x' %}", 'unknown tag "include"', 2],
  ["{{ name | attr('x') }}", 'unknown filter "attr"', 10],
  ["{{ name.upper() }}", "templates call no functions", 13],
  ["{{ 1 / 0 }}", "a division by zero", 5],
  ["{{ list }}", "a list or map is not text", 2],
  ["{{ 1 < 'a' }}", "< compares two numbers or two texts", 5],
  ["{{ a ! b }}", '"!" is not expected here', 5],
  ["{% for x in list if x != 'a' %}{% endfor %}", "a loop has no condition", 17],
  ["{{ name if yes }}", '"if" in an expression needs "else"', 14],
])("%s is a mistake: %s", (template, message, at) => {
  expect(mistake(template)).toEqual({ message, at });
});

test("a template reaches nothing but its data", () => {
  for (const owner of ["name", "number", "yes", "list", "node", "interfaces[0]", "loop", "'a'", "[]"]) {
    for (const key of [
      "constructor",
      "__proto__",
      "prototype",
      "toString",
      "hasOwnProperty",
      "length",
      "size",
      "get",
      "valueOf",
      "__defineGetter__",
    ]) {
      const template = `{% for x in [1] %}{{ (${owner}).${key} is defined }}{{ (${owner})['${key}'] is defined }}{% endfor %}`;
      const result = (() => {
        try {
          return render(template);
        } catch (error) {
          return error instanceof TemplateError ? "refused" : String(error);
        }
      })();
      const known = owner === "loop" && key === "length" ? "truetrue" : "falsefalse";
      expect([owner, key, ["refused", known].includes(result)]).toEqual([owner, key, true]);
    }
  }
  for (const name of ["constructor", "__proto__", "globalThis", "process", "this", "self", "Object"])
    expect(mistake(`{{ ${name} }}`).message).toBe(`"${name}" is not defined`);
});

test.each([
  ["{% for x in list if yes %}{% endfor %}", "put {% if %} inside it"],
  ['{% if name = "r1" %}{% endif %}', "write == to compare"],
])("%s has the hint: %s", (template, hint) => {
  expect(() => render(template)).toThrow(expect.objectContaining({ hint }));
});

test("the same number of steps is refused everywhere: loops, texts and filters use the budget", () => {
  const steps = "the templates of the lab take too many steps";
  const loops =
    "{% for a in list %}{% for b in list %}{% for c in list %}{% for d in list %}x{% endfor %}{% endfor %}{% endfor %}{% endfor %}";
  expect(mistake(loops, 100).message).toBe(steps);
  expect(render(loops, 1000)).toHaveLength(81);
  expect(mistake("{% for a in list %}{{ 'x' ~ name }}{% endfor %}", 10).message).toBe(steps);
  const doubling = `{% set x = 'abcdefgh' %}${"{% set x = x ~ x %}".repeat(40)}{{ x }}`;
  expect(mistake(doubling, 5_000_000, 1_048_576).message).toBe("the text has more than 1048576 characters");
  expect(mistake(`{% set x = 'a' %}${"{% set x = x | replace('a', 'aaaaaaaaaaaaaaaaaaaa') %}".repeat(20)}`, 5_000_000).message).toBe(
    "the text has more than 1048576 characters",
  );
  expect(mistake("{{ name }}".repeat(100), 100_000, 50).message).toBe("the result has more than 50 characters");
  expect(mistake(`{{ ${"(".repeat(100)}1${")".repeat(100)} }}`).message).toBe("an expression is nested deeper than 32 levels");
  expect(mistake(`{{ 1 ${"+ 1 ".repeat(100_000)} }}`).message).toBe("an expression has more than 1000 words");
  expect(mistake(`${"{% if yes %}".repeat(40)}${"{% endif %}".repeat(40)}`).message).toBe("nested deeper than 32 blocks");
});

test("searches, sets, orders and memberships use as many steps as they take at worst", () => {
  const steps = "the templates of the lab take too many steps";
  const long = (name: string, doublings: number) => `{% set ${name} = 'y' %}${`{% set ${name} = ${name} ~ ${name} %}`.repeat(doublings)}`;
  const texts = `${long("x", 16)}${long("q", 14)}{% set q = q ~ 'z' ~ q %}`;
  expect(mistake(`${texts}{{ q in x }}`, 5_000_000).message).toBe(steps);
  expect(mistake(`${texts}{{ x | replace(q, 'a') | length }}`, 5_000_000).message).toBe(steps);
  expect(
    mistake(`${texts}{% set l = [${"x, ".repeat(300)}x] %}{{ (x ~ 'a') in [x ~ 'b', x ~ 'c'] }}{{ (l | unique) | length }}`, 5_000_000)
      .message,
  ).toBe("unique compares texts of at most 10000 characters");
  const list = `${long("x", 13)}{% set l = [${Array.from({ length: 99 }, (_, i) => `x ~ ${i}`).join(", ")}] %}`;
  expect(mistake(`${list}{{ (x ~ 'zz') in l }}`, 55_000).message).toBe(steps);
  expect(mistake(`${list}{{ l | sort | length }}`, 55_000).message).toBe(steps);
  expect(render(`${list}{{ l | unique | length }} {{ l | sort | length }} {{ 'b' in 'abc' }}`, 5_000_000)).toBe("99 99 true");
});

test("any text is rendered or is a mistake with a place in it", () => {
  const piece = fc.constantFrom(
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "-",
    " ",
    "\n",
    "for",
    "in",
    "if",
    "else",
    "endif",
    "endfor",
    "raw",
    "endraw",
    "set",
    "x",
    "=",
    "list",
    "name",
    ".",
    "|",
    "join",
    "(",
    ")",
    "[",
    "]",
    "'",
    '"',
    "\\",
    "1",
    ",",
    "not",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const template = pieces.join("");
      try {
        render(template, 10_000, 10_000);
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
        expect(error.at).toBeGreaterThanOrEqual(0);
        expect(error.at).toBeLessThanOrEqual(template.length);
      }
    }),
    { numRuns: 1000 },
  );
});

test("a text without tags is rendered as it is", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      fc.pre(!/\{[{%#]/.test(text));
      expect(render(text, 1_000_000, 1_000_000)).toBe(text);
    }),
  );
});
