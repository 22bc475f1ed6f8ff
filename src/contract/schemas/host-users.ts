import Type, { type Static } from "typebox";
import { flag, integer, list, name, optionalText, text, word } from "./shapes.ts";

/**
 * role: the host's role name. pod: the user's number on EVE-NG, which determines console ports. lab: the lab that the user has open on the host.
 */
export const HostUser = Type.Object({
  user: text,
  role: text,
  name: optionalText,
  email: optionalText,
  pod: Type.Optional(integer),
  lab: optionalText,
});
export type HostUser = Static<typeof HostUser>;

export const HostUsersData = Type.Object({
  /** Sorted by user. */
  users: list(HostUser),
});
export type HostUsersData = Static<typeof HostUsersData>;

const password = Type.String({ minLength: 1, maxLength: 1024 });

/** add true: a new user, with a password; role: default user. Otherwise the password, the role or both of an existing user. */
export const HostUserPayload = Type.Object({
  user: name,
  add: Type.Optional(flag),
  password: Type.Optional(password),
  role: Type.Optional(word(["admin", "user", "viewer"])),
});
export type HostUserPayload = Static<typeof HostUserPayload>;

export const HostUserRemovePayload = Type.Object({ user: name });
export type HostUserRemovePayload = Static<typeof HostUserRemovePayload>;
