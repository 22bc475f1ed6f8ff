import Type, { type Static } from "typebox";
import { tokenScopes } from "../token-scopes.ts";
import { list, text, time, word } from "./shapes.ts";

/**
 * read: view labs; operate: also power, consoles, links and captures; deploy: also make, change and destroy labs; labs: everything that an ordinary user may do,
 * also share labs and delete kept disks; admin: everything that an admin may do. A scope never adds to the rights of the user.
 */
const scope = word(tokenScopes);
/** A path of labs with wildcards: * and ? within one segment, and ** for any number of segments. */
const pattern = Type.String({ minLength: 1, maxLength: 256 });

export const TokenCreatePayload = Type.Object({
  /** For people: which program uses it. */
  name: Type.String({ minLength: 1, maxLength: 64, pattern: "^[^\\u0000-\\u001f\\u007f]+$" }),
  /** Default: labs. */
  scope: Type.Optional(scope),
  /** Limits the token to the labs whose paths match one of these patterns, such as /ci/*. Default: all labs of the user. */
  labs: Type.Optional(list(pattern, 20)),
  /** Seconds until it expires. Default: 30 days. */
  lifetime: Type.Optional(Type.Integer({ minimum: 60, maximum: 31_622_400 })),
});
export type TokenCreatePayload = Static<typeof TokenCreatePayload>;

export const TokenRevokePayload = Type.Object({ id: text });
export type TokenRevokePayload = Static<typeof TokenRevokePayload>;

const token = {
  id: text,
  user: text,
  name: text,
  scope,
  /** Absent: all labs of the user. */
  labs: Type.Optional(list(pattern)),
  created_at: time,
  used_at: time,
  expires_at: time,
};
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
