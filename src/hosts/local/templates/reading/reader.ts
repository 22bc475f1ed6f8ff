import { isMap, type Node, type Pair } from "yaml";
import { nearest } from "../../../../intent/diagnostics/nearest.ts";

/** The readers of a map's values. */
export interface MapReader {
  get(key: string): Reader;
}

/** Returns a suggestion for a misspelled name, or the list of valid names. */
function hint(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  return meant === undefined ? ` (known: ${known.join(", ")})` : `; did you mean "${meant}"?`;
}

type Report = (offset: number, message: string) => void;

/** A value of the file with its position. Each reading method returns the value, or reports a problem and returns `undefined`. */
export class Reader {
  readonly node: Node | null | undefined;
  readonly value: unknown;
  readonly name: string;
  readonly offset: number;
  readonly report: Report;

  constructor(node: Node | null | undefined, value: unknown, name: string, offset: number, report: Report) {
    this.node = node;
    this.value = value;
    this.name = name;
    this.offset = node?.range?.[0] ?? offset;
    this.report = report;
  }

  fail(message: string): undefined {
    this.report(this.offset, message);
    return undefined;
  }

  wrong(expected: string): undefined {
    return this.fail(this.value === undefined ? `${this.name} is missing` : `${this.name} must be ${expected}`);
  }

  /** Returns the field, `undefined` if the file does not have it. */
  optional(): Reader | undefined {
    return this.value === undefined ? undefined : this;
  }

  map(required: readonly string[], optional: readonly string[] = []): MapReader {
    const empty = { get: (key: string) => new Reader(undefined, undefined, key, this.offset, () => {}) };
    if (!isMap(this.node) || typeof this.value !== "object" || this.value === null) {
      this.wrong("a map");
      return empty;
    }
    const known = [...required, ...optional];
    const pairs = new Map<string, Pair>();
    for (const pair of this.node.items) {
      const key = String((pair.key as { value?: unknown } | null)?.value ?? pair.key);
      if (known.includes(key)) pairs.set(key, pair);
      else this.report((pair.key as Node | null)?.range?.[0] ?? this.offset, `unknown key "${key}"${hint(key, known)}`);
    }
    for (const key of required) if (!pairs.has(key)) this.fail(`key "${key}" is missing in ${this.name}`);
    const values = this.value as Readonly<Record<string, unknown>>;
    // A missing required key was already reported, so its reader reports nothing.
    return {
      get: (key) => {
        const report = pairs.has(key) || !required.includes(key) ? this.report : () => {};
        return new Reader(pairs.get(key)?.value as Node | undefined, values[key], key, this.offset, report);
      },
    };
  }

  /** Returns the entries of a map with any keys. */
  entries(): readonly (readonly [string, Reader])[] {
    if (!isMap(this.node) || typeof this.value !== "object" || this.value === null) {
      this.wrong("a map");
      return [];
    }
    const values = this.value as Readonly<Record<string, unknown>>;
    return this.node.items.map((pair) => {
      const key = String((pair.key as { value?: unknown } | null)?.value ?? pair.key);
      return [key, new Reader(pair.value as Node | null | undefined, values[key], key, this.offset, this.report)] as const;
    });
  }

  list(): readonly Reader[] {
    if (!Array.isArray(this.value)) {
      this.wrong("a list");
      return [];
    }
    const items = (this.node as { items?: readonly Node[] } | undefined)?.items ?? [];
    return this.value.map((value, index) => new Reader(items[index], value, `${this.name}[${index}]`, this.offset, this.report));
  }

  texts(): readonly string[] {
    return this.list().flatMap((item) => item.text() ?? []);
  }

  string(): string | undefined {
    return typeof this.value === "string" ? this.value : this.wrong("a text");
  }

  text(shape = /\S/, expected = "a text that is not empty"): string | undefined {
    return typeof this.value === "string" && shape.test(this.value) ? this.value : this.wrong(expected);
  }

  pattern(): string | undefined {
    const text = this.text();
    if (text === undefined) return undefined;
    try {
      new RegExp(text);
      return text;
    } catch (error) {
      return this.fail((error as Error).message);
    }
  }

  oneOf<const Word extends string>(words: readonly Word[], expected = words.join(", ")): Word | undefined {
    const found = words.find((word) => word === this.value);
    if (found !== undefined || typeof this.value !== "string") return found ?? this.wrong(`one of ${expected}`);
    const meant = nearest(this.value, words);
    return this.wrong(`one of ${expected}${meant === undefined ? "" : `; did you mean ${meant}?`}`);
  }

  boolean(): boolean | undefined {
    return typeof this.value === "boolean" ? this.value : this.wrong("true or false");
  }

  number(min = -Infinity, max = Infinity): number | undefined {
    const fits = typeof this.value === "number" && this.value >= min && this.value <= max;
    return fits ? (this.value as number) : this.wrong(Number.isFinite(min + max) ? `a number from ${min} to ${max}` : "a number");
  }

  integer(min = -Infinity, max = Infinity): number | undefined {
    const value = this.number(min, max);
    return value === undefined || Number.isInteger(value) ? value : this.wrong("a whole number");
  }
}

/** Returns the value of a key that a template must have; `undefined` if it is inherited. */
export function given(map: MapReader, key: string, base: object | undefined): Reader | undefined {
  return base === undefined ? map.get(key) : map.get(key).optional();
}
