import type { LabDefinition } from "./definition.ts";

interface ListText {
  readonly items: readonly object[];
  /** The text of each item. Absent for a list that was written as a whole. */
  readonly texts?: readonly string[];
  readonly whole: string;
}

/** A list with a larger share of new objects is written as a whole. */
const largestShareOfNew = 1 / 16;

/**
 * Writes the text of one lab's lab.json: that of `JSON.stringify(definition, null, 1)`. A large lab is written at each change of one link: parts that are the same
 * objects as in the definition before are not converted again.
 */
export class DefinitionText {
  readonly #lists = new Map<string, ListText>();

  of(definition: LabDefinition): string {
    const fields = Object.entries(definition)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => ` ${JSON.stringify(key)}: ${Array.isArray(value) ? this.#list(key, value) : fieldText(value)}`);
    return `{\n${fields.join(",\n")}\n}\n`;
  }

  #list(key: string, items: readonly object[]): string {
    const before = this.#lists.get(key);
    if (before?.items === items) return before.whole;
    const added = items.reduce((sum, item, i) => sum + (before?.items[i] === item ? 0 : 1), 0);
    const list = added > items.length * largestShareOfNew ? { items, whole: fieldText(items) } : withTexts(items, before);
    this.#lists.set(key, list);
    return list.whole;
  }
}

function withTexts(items: readonly object[], before: ListText | undefined): ListText {
  const texts = items.map((item, i) => (before?.items[i] === item && before.texts?.[i]) || itemText(item));
  return { items, texts, whole: items.length === 0 ? "[]" : `[\n${texts.join(",\n")}\n ]` };
}

/** Returns the text of a field's value, with the indent that it has in the definition. */
function fieldText(value: unknown): string {
  return JSON.stringify([value], null, 1).slice("[\n ".length, -"\n]".length);
}

function itemText(item: object): string {
  return JSON.stringify([[item]], null, 1).slice("[\n [\n".length, -"\n ]\n]".length);
}
