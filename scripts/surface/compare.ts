import type { FieldSurface, OperationSurface, Surface } from "./surface.ts";

export interface Comparison {
  /** Changes that break existing clients. Never allowed within v1. */
  readonly broken: readonly string[];
  /** Additions. They are allowed and must be frozen. */
  readonly added: readonly string[];
}

const fixed = ["method", "path", "auth", "answer", "replay", "timeout_ms", "unknown_fields"] as const satisfies (keyof OperationSurface)[];

/** Compares the surface of the code with the frozen one. */
export function compareSurfaces(frozen: Surface, now: Surface): Comparison {
  const broken: string[] = [];
  const added: string[] = [];
  for (const [code, status] of Object.entries(frozen.codes)) {
    const is = now.codes[code];
    if (is === undefined) broken.push(`code ${code} was removed`);
    else if (is !== status) broken.push(`code ${code}: status ${status} became ${is}`);
  }
  added.push(...newKeys(frozen.codes, now.codes).map((code) => `code ${code}`));
  for (const [id, before] of Object.entries(frozen.operations)) {
    const after = now.operations[id];
    if (after === undefined) {
      broken.push(`operation ${id} was removed`);
      continue;
    }
    for (const part of fixed) if (before[part] !== after[part]) broken.push(`${id}: ${part} ${before[part]} became ${after[part]}`);
    for (const alias of before.aliases) if (!after.aliases.includes(alias)) broken.push(`${id}: path ${alias} was removed`);
    for (const code of before.codes) if (!after.codes.includes(code)) broken.push(`${id}: code ${code} was removed`);
    added.push(...after.codes.filter((code) => !before.codes.includes(code)).map((code) => `${id}: code ${code}`));
    added.push(...after.aliases.filter((alias) => !before.aliases.includes(alias)).map((alias) => `${id}: path ${alias}`));
    compareFields(id, before.fields, after.fields, broken, added);
  }
  added.push(...newKeys(frozen.operations, now.operations).map((id) => `operation ${id}`));
  return { broken, added };
}

function compareFields(
  id: string,
  before: Readonly<Record<string, FieldSurface>>,
  after: Readonly<Record<string, FieldSurface>>,
  broken: string[],
  added: string[],
): void {
  for (const [place, { type, required }] of Object.entries(before)) {
    const field = after[place];
    const told = `${id}: ${place}`;
    const answered = place.startsWith("data");
    if (field === undefined) {
      broken.push(`${told} was removed`);
      continue;
    }
    if (field.type !== type) (moreWords(type, field.type) ? added : broken).push(`${told}: type ${type} became ${field.type}`);
    // A request field that is now required, or an answer field that is no longer guaranteed.
    if (field.required !== required) {
      const breaks = answered ? required : field.required;
      (breaks ? broken : added).push(`${told} became ${field.required ? "required" : "optional"}`);
    }
  }
  for (const place of newKeys(before, after)) {
    const parent = place.replace(/(\.[^.]*|\[\]|\{\})$/, "");
    // A new required field inside a new optional object does not affect existing clients.
    const isNew =
      parent !== place &&
      parent.includes(".") &&
      before[parent] === undefined &&
      !Object.keys(before).some((one) => one.startsWith(parent));
    if (!place.startsWith("data") && after[place]!.required && !isNew) broken.push(`${id}: ${place} is new and required`);
    else added.push(`${id}: ${place}`);
  }
}

/** Returns whether an enumeration has new values and has lost none. */
function moreWords(before: string, after: string): boolean {
  const [had, has] = [before.split("|"), new Set(after.split("|"))];
  return had.every((word) => word.startsWith('"') && has.has(word));
}

function newKeys(before: object, after: object): readonly string[] {
  return Object.keys(after).filter((key) => !Object.hasOwn(before, key));
}
