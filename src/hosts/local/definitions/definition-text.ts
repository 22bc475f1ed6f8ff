import type { LabDefinition } from "./definition.ts";

interface ListText {
  readonly items: readonly object[];
  /** The text of each item. */
  readonly texts: readonly string[];
  readonly whole: string;
}

/**
 * Writes the text of one lab's lab.json: that of `JSON.stringify(definition, null, 1)`. A large lab is written at each change of one link: parts that are the same
 * objects as in the definition before are not converted again.
 */
export class DefinitionText {
  readonly #lists = new Map<string, ListText>();

  of(definition: LabDefinition): string {
    const fields = Object.entries(definition)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => ` ${JSON.stringify(key)}: ${Array.isArray(value) ? this.#list(key, value) : indented(value, " ")}`);
    return `{\n${fields.join(",\n")}\n}\n`;
  }

  #list(key: string, items: readonly object[]): string {
    const before = this.#lists.get(key);
    if (before?.items === items) return before.whole;
    const texts = items.map((item, i) => (before?.items[i] === item ? before.texts[i]! : `  ${indented(item, "  ")}`));
    const whole = items.length === 0 ? "[]" : `[\n${texts.join(",\n")}\n ]`;
    this.#lists.set(key, { items, texts, whole });
    return whole;
  }
}

function indented(value: unknown, indent: string): string {
  return JSON.stringify(value, null, 1).replaceAll("\n", `\n${indent}`);
}
