import { TemplateError } from "./template-error.ts";

/** The values of templates. Maps instead of objects: they have no properties and no prototype that a template could read. */
export type Data = string | number | boolean | null | readonly Data[] | ReadonlyMap<string, Data>;

export function isList(value: Data | undefined): value is readonly Data[] {
  return Array.isArray(value);
}

export function isMap(value: Data | undefined): value is ReadonlyMap<string, Data> {
  return value instanceof Map;
}

/** Returns the text of a scalar, as Jinja2 has it: nothing is quoted or escaped. */
export function textOf(value: Data, at: number): string {
  if (value === null) return "";
  if (isList(value) || isMap(value))
    throw new TemplateError("a list or map is not text", at, 'write | join(", "), or the name of one of its parts');
  return String(value);
}

/** Work that a pass over the value takes. */
export function sizeOf(value: Data): number {
  if (typeof value === "string") return value.length >> 4;
  if (isList(value)) return value.length;
  return isMap(value) ? value.size : 0;
}

/** Work of a search for a part in a text, at worst. */
export function searchSteps(text: string, part: string): number {
  return Math.ceil((text.length * Math.max(1, part.length)) / 16);
}

/** Bounds the work of all templates of a lab together, in steps of equal size on every machine. */
export class Budget {
  #left: number;

  constructor(steps: number) {
    this.#left = steps;
  }

  /** Throws TemplateError. */
  use(steps: number, at: number): void {
    this.#left -= steps;
    if (this.#left < 0)
      throw new TemplateError("the templates of the lab take too many steps", at, "make loops shorter, or write fewer of them");
  }
}
