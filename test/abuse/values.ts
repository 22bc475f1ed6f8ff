import type { Random } from "./random.ts";

/** The part of JSON Schema that the contract's request schemas use. */
export interface Field {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly items?: Field;
  readonly anyOf?: readonly Field[];
  readonly properties?: Readonly<Record<string, Field>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Field | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
}

/** Texts that break what takes text for a path, a key, a pattern, a format or a terminal. */
export const nastyTexts: readonly string[] = [
  "",
  " ",
  "\0",
  "a\0b",
  "\n",
  "a\r\nX-Injected: 1",
  "..",
  "../../etc/passwd",
  "/../../etc/passwd",
  "....//....//etc/passwd",
  "..\\..\\windows\\system32",
  "%2e%2e%2fetc%2fpasswd",
  "/etc/passwd",
  "//",
  "/fuzz//1",
  "C:\\x",
  "a/b/c/d/e/f/g/h/i/j",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "valueOf",
  "__defineGetter__",
  "length",
  "null",
  "undefined",
  "NaN",
  "true",
  "0",
  "-1",
  "1e999",
  "\ud800",
  "x\udfffy",
  "\ufeff",
  "\u2028",
  "\u202eabc",
  "é".normalize("NFD"),
  "日本語",
  "👩‍👩‍👧‍👦",
  "\x1b[2J\x1b[31m",
  "#{7*7}{{7*7}}",
  "%s%n%d",
  "'; DROP TABLE labs; --",
  "$(id)`id`|id;id",
  "<script>alert(1)</script>",
  "(a+)+$",
  "[",
  "eth{0",
  "eth{99999999999}",
  "{0}{0}{0}",
  "a".repeat(65),
  "a".repeat(256),
];

const nastyNumbers = [-1, -0, 0.1, 1.5, 4, 255, 65_536, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 63), 1e21, 1e308, 5e-324];

/** A value of a type that the field may or may not have. */
export function anyValue(random: Random, depth = 0): unknown {
  switch (random.int(depth > 2 ? 9 : 13)) {
    case 0:
      return null;
    case 1:
      return "";
    case 2:
      return 0;
    case 3:
      return false;
    case 4:
      return true;
    case 5:
    case 6:
      return random.pick(nastyTexts);
    case 7:
      return random.pick(nastyNumbers);
    case 8:
      return random.chance(0.02) ? "x".repeat(1 << random.int(17)) : "x".repeat(random.int(100));
    case 9:
      return Array.from({ length: random.int(4) }, () => anyValue(random, depth + 1));
    case 10:
      return nested(random.int(60), random.chance(0.5));
    case 11:
      return polluting(random);
    default:
      return Object.fromEntries(Array.from({ length: random.int(4) }, () => [random.pick(nastyTexts), anyValue(random, depth + 1)]));
  }
}

/** A value that the schema accepts, without regard to its meaning. */
export function typedValue(random: Random, field: Field): unknown {
  if (field.enum !== undefined) return random.pick(field.enum);
  if (field.anyOf !== undefined) return typedValue(random, random.pick(field.anyOf));
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = field;
  const within = (value: number) => Math.min(maximum, Math.max(minimum, value));
  switch (field.type) {
    case "string":
      return random.pick(nastyTexts);
    case "integer":
      return within(Math.trunc(random.pick(nastyNumbers)));
    case "number":
      return within(random.pick(nastyNumbers));
    case "boolean":
      return random.chance(0.5);
    case "array":
      return Array.from({ length: field.minItems ?? random.int(5) }, () => typedValue(random, field.items ?? {}));
    case "object": {
      const extra = typeof field.additionalProperties === "object" ? field.additionalProperties : undefined;
      const own = Object.entries(field.properties ?? {}).filter(([name]) => field.required?.includes(name) || random.chance(0.4));
      return Object.fromEntries([
        ...own.map(([name, each]) => [name, typedValue(random, each)]),
        ...(extra === undefined ? [] : Array.from({ length: random.int(4) }, () => [random.pick(nastyTexts), typedValue(random, extra)])),
      ]);
    }
    default:
      return anyValue(random);
  }
}

/** Objects whose keys reach for the prototype; own keys, as JSON.parse makes them. */
export function polluting(random: Random): unknown {
  const load = '{"polluted":true,"replace":true,"dir":"/tmp","role":"viewer","0":1,"length":9}';
  return JSON.parse(
    random.pick([
      `{"__proto__":${load}}`,
      `{"constructor":{"prototype":${load}}}`,
      `{"constructor":${load}}`,
      `{"__proto__":null}`,
      `{"a":{"__proto__":${load}}}`,
      `{"prototype":${load}}`,
      `{"__proto__":{"toString":1,"toJSON":1,"then":1}}`,
      `{"toJSON":1,"then":1,"toString":1,"valueOf":1}`,
    ]),
  );
}

function nested(depth: number, list: boolean): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = list ? [value] : { a: value };
  return value;
}
