import type { TSchema } from "typebox";
import { type ErrorRow, errors } from "../../src/contract/errors.ts";
import { type OperationRow, operations } from "../../src/contract/operations.ts";
import { dataSchemas, requestSchemas } from "../../src/contract/schemas/table.ts";

/** One field of a request or of an answer, named by its place: "body.lab", "data.nodes[].name". */
export interface FieldSurface {
  /** JSON types, or the values of an enumeration: "string", "integer|null", "a|b". */
  readonly type: string;
  readonly required: boolean;
}

export interface OperationSurface {
  readonly method: string;
  readonly path: string;
  readonly aliases: readonly string[];
  readonly auth: string;
  readonly answer: string;
  readonly replay: boolean;
  readonly timeout_ms: number;
  readonly unknown_fields: string;
  readonly codes: readonly string[];
  readonly fields: Readonly<Record<string, FieldSurface>>;
}

/** The parts of API v1 that clients may rely on. */
export interface Surface {
  readonly operations: Readonly<Record<string, OperationSurface>>;
  /** Code → HTTP status; 0: thrown by clients. */
  readonly codes: Readonly<Record<string, number>>;
}

interface Shape {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Shape;
}

/** Returns the surface of the contract in the code. Keys are sorted, so that equal surfaces have equal texts. */
export function surfaceNow(): Surface {
  const rows = Object.entries(operations) as [keyof typeof operations, OperationRow][];
  return {
    operations: sorted(Object.fromEntries(rows.map(([id, row]) => [id, operationSurface(id, row)]))),
    codes: sorted(Object.fromEntries((Object.entries(errors) as [string, ErrorRow][]).map(([code, { status }]) => [code, status]))),
  };
}

function operationSurface(id: keyof typeof operations, row: OperationRow): OperationSurface {
  const request: { readonly body?: TSchema; readonly query?: TSchema; readonly params?: TSchema } = requestSchemas[id];
  const fields: Record<string, FieldSurface> = {};
  for (const part of ["body", "query", "params"] as const) collect(part, request[part] as Shape | undefined, fields);
  if (row.answer === "data") collect("data", dataSchemas[id] as Shape, fields);
  return {
    method: row.method,
    path: row.path,
    aliases: [...(row.aliases ?? [])].sort(),
    auth: row.auth,
    answer: row.answer,
    replay: row.replay,
    timeout_ms: row.timeoutMs,
    unknown_fields: row.unknownFields,
    codes: [...new Set(row.errors)].sort(),
    fields: sorted(fields),
  };
}

function collect(place: string, schema: Shape | undefined, fields: Record<string, FieldSurface>): void {
  if (schema === undefined) return;
  for (const variant of schema.anyOf ?? []) collect(place, variant, fields);
  if (schema.items !== undefined) collect(`${place}[]`, schema.items, fields);
  if (typeof schema.additionalProperties === "object") collect(`${place}{}`, schema.additionalProperties, fields);
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const at = `${place}.${name}`;
    fields[at] = { type: typeOf(field), required: schema.required?.includes(name) === true };
    collect(at, field, fields);
  }
}

function typeOf({ type, enum: words, const: only, anyOf, items, additionalProperties }: Shape): string {
  if (only !== undefined) return JSON.stringify(only);
  if (words !== undefined) return words.map((word) => JSON.stringify(word)).join("|");
  if (anyOf !== undefined) return anyOf.map(typeOf).join("|");
  if (type === "array") return `list of ${typeOf(items ?? {})}`;
  if (typeof additionalProperties === "object") return `map of ${typeOf(additionalProperties)}`;
  return type ?? "any";
}

function sorted<T>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}
