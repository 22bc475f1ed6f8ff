import type { Json, JsonSchema } from "./schema-object.ts";

/** A text that contains a reference: its value is known only to the reader. */
const REFERENCE = "\\$\\{";

/** Returns the schema with a text that contains `${…}` allowed in place of each scalar. Keys cannot contain references. */
export function withReferences(schema: JsonSchema): JsonSchema {
  const result: Record<string, Json> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (isSchema(value) && (key === "items" || key === "additionalProperties")) result[key] = withReferences(value);
    else if (key === "anyOf" || key === "oneOf") result[key] = (value as readonly JsonSchema[]).map(withReferences);
    else if ((key === "properties" || key === "definitions") && isSchema(value)) {
      result[key] = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withReferences(one as JsonSchema)]));
    } else result[key] = value;
  }
  return scalar(result);
}

function scalar(schema: JsonSchema): JsonSchema {
  const types = schema["type"] === undefined ? [] : [schema["type"]].flat();
  const { pattern } = schema;
  if (Array.isArray(schema["enum"])) {
    const { enum: words, ...rest } = schema;
    return { ...rest, anyOf: [{ enum: words as Json }, { type: "string", pattern: REFERENCE }] };
  }
  if (types.includes("string")) return pattern === undefined ? schema : { ...schema, pattern: `${pattern}|${REFERENCE}` };
  // A pattern applies to texts alone, and the limits of numbers to numbers alone.
  const isScalar = ["number", "integer", "boolean"].some((type) => types.includes(type));
  return isScalar ? { ...schema, type: [...types, "string"] as readonly Json[], pattern: REFERENCE } : schema;
}

function isSchema(value: Json): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
