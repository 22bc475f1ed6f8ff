import Type, { type Static } from "typebox";
import { flag, integer, list, optionalText, text } from "./shapes.ts";

/**
 * role: in the host's own word. signed_in: a session with the host is open; absent where the host does not tell. pod: the number of the user on EVE-NG, from
 * which console ports follow. lab: the one that the user has open there.
 */
export const HostUser = Type.Object({
  user: text,
  role: text,
  name: optionalText,
  email: optionalText,
  pod: Type.Optional(integer),
  lab: optionalText,
  signed_in: Type.Optional(flag),
});
export type HostUser = Static<typeof HostUser>;

export const HostUsersData = Type.Object({
  /** Sorted by user. */
  users: list(HostUser),
});
export type HostUsersData = Static<typeof HostUsersData>;
