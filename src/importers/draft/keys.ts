import { toLabName } from "../../intent/lab/lab-name.ts";

/** Makes keys of names: valid, and different from each other. The same names in the same order give the same keys. */
export class Keys {
  readonly #taken = new Set<string>();

  /** Returns the name itself if it is a valid key that is free. */
  take(name: string, otherwise: string): string {
    const plain = /[A-Za-z0-9]/.test(name) ? toLabName(name) : otherwise;
    let key = plain;
    for (let number = 2; this.#taken.has(key.toLowerCase()); number++) {
      const suffix = `-${number}`;
      key = `${plain.slice(0, 64 - suffix.length)}${suffix}`;
    }
    this.#taken.add(key.toLowerCase());
    return key;
  }
}

/** Returns a text as one line without control characters, of a maximum length; undefined if nothing is left. */
export function oneLine(text: string, max: number): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed
  const line = text.replace(/[\0-\x1f\x7f\ufffe\uffff]+|\p{Cs}/gu, " ").trim();
  return [...line].slice(0, max).join("").trim() || undefined;
}

/** Returns a text without characters that YAML cannot contain. */
export function cleanText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed
  return text.replace(/\r\n?/g, "\n").replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]|\p{Cs}/gu, "");
}
