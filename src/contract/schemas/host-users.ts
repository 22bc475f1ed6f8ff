import Type, { type Static } from "typebox";
import { integer, list, optionalText, text } from "./shapes.ts";

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
