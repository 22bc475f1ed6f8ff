import Type, { type Static, type TSchema } from "typebox";

/** A list, typed as readonly. `max` limits the number of entries in a request. */
export function list<S extends TSchema>(items: S, max?: number) {
  return Type.Unsafe<readonly Static<S>[]>(Type.Array(items, max === undefined ? {} : { maxItems: max }));
}

/** Any string → S. Not Type.Record: its pattern "^.*$" skips keys that contain a line break. */
export function map<S extends TSchema>(values: S) {
  return Type.Unsafe<Readonly<Record<string, Static<S>>>>({ type: "object", additionalProperties: values });
}

/** One of these strings. */
export function word<const W extends readonly string[]>(words: W) {
  return Type.Unsafe<W[number]>({ type: "string", enum: words });
}

export const text = Type.String();
/** In a request: a path, a key or another short string, which an answer may repeat. */
export const name = Type.String({ maxLength: 1024 });
/** In a request: text to type on a console, or to wait for. */
export const typing = Type.String({ maxLength: 65_536 });
export const integer = Type.Integer();
export const number = Type.Number();
export const flag = Type.Boolean();
/** RFC 3339, UTC. */
export const time = Type.String({ format: "date-time" });
/** Any JSON value, null included. */
export const json = Type.Unknown();
/** Relative path → text. */
export const files = map(text);

export const optionalText = Type.Optional(text);
/**
 * Always set. The key of the node in plans, links and calls: `node`, or a key made from its name on the host, which no other node of the lab has.
 */
export const uniqueKey = Type.Optional(text);
export const optionalName = Type.Optional(name);
export const optionalInteger = Type.Optional(integer);
export const optionalFlag = Type.Optional(flag);
export const optionalFiles = Type.Optional(files);
export const optionalJson = Type.Optional(json);
