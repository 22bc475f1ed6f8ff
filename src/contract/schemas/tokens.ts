import Type, { type Static } from "typebox";
import { list, text, time, word } from "./shapes.ts";

/**
 * read: view labs; operate: also power, consoles, links and captures; labs: everything that an ordinary user may do; admin: everything that an admin may do. A
 * scope never adds to the rights of the user.
 */
const scope = word(["read", "operate", "labs", "admin"]);

export const TokenCreatePayload = Type.Object({
  /** For people: which program uses it. */
  name: Type.String({ minLength: 1, maxLength: 64, pattern: "^[^\\u0000-\\u001f\\u007f]+$" }),
  /** Default: labs. */
  scope: Type.Optional(scope),
  /** Seconds until it expires. Default: 30 days. */
  lifetime: Type.Optional(Type.Integer({ minimum: 60, maximum: 31_622_400 })),
});
export type TokenCreatePayload = Static<typeof TokenCreatePayload>;

export const TokenRevokePayload = Type.Object({ id: text });
export type TokenRevokePayload = Static<typeof TokenRevokePayload>;

const token = { id: text, user: text, name: text, scope, created_at: time, used_at: time, expires_at: time };
export const ApiTokenData = Type.Object(token);
export type ApiTokenData = Static<typeof ApiTokenData>;

export const TokensData = Type.Object({
  /** The oldest first. Of all users for an admin, otherwise of the caller. */
  tokens: list(ApiTokenData),
});
export type TokensData = Static<typeof TokensData>;

/** token: the bearer token, which no other answer contains. */
export const NewTokenData = Type.Object({ ...token, token: text });
export type NewTokenData = Static<typeof NewTokenData>;
