import type { Vocabulary } from "./lab/vocabulary.ts";

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonSchema = { readonly [key: string]: Json };

/** The keys of one place. Each has its schema, a key without effect is described as such, and no other key is allowed. */
export function object(vocabulary: Vocabulary, properties: Readonly<Record<string, Json>>, more: JsonSchema = {}): JsonSchema {
  const missing = vocabulary.known.filter((key) => !Object.hasOwn(properties, key));
  if (missing.length > 0) throw new Error(`the schema does not describe ${missing.join(", ")}`);
  const known = vocabulary.known.map((key) => [key, properties[key] as Json] as const);
  const ignored = vocabulary.ignored.map((key) => {
    const description = "Known to containerlab; read with a warning, without effect here.";
    return [key, { description, deprecationMessage: `${key} has no effect` }] as const;
  });
  return { type: "object", properties: Object.fromEntries([...known, ...ignored]), additionalProperties: false, ...more };
}
