import Type, { type Static } from "typebox";
import { integer, list, name, optionalFlag, optionalInteger, optionalText, text, word } from "./shapes.ts";

/** Absent: no limit. captures: also those that have ended and are kept. */
const limits = { labs: optionalInteger, nodes: optionalInteger, memory_mib: optionalInteger, captures: optionalInteger };

/**
 * user: for the labs of this user. group: for the labs of all its members together. default: for each user without a quota of the user's own, except admins.
 * used: by the labs of the quota now, stopped ones included. members: for admins only.
 */
export const QuotaData = Type.Object({
  kind: word(["user", "group", "default"]),
  name: optionalText,
  ...limits,
  members: Type.Optional(list(text)),
  used: Type.Optional(Type.Object({ labs: integer, nodes: integer, memory_mib: integer })),
});
export type QuotaData = Static<typeof QuotaData>;

export const QuotasData = Type.Object({ quotas: list(QuotaData) });
export type QuotasData = Static<typeof QuotasData>;

/** Replaces the quota with this kind and name; remove true removes it. */
export const QuotaPayload = Type.Object({
  kind: word(["user", "group", "default"]),
  name: Type.Optional(name),
  ...limits,
  members: Type.Optional(list(name, 10_000)),
  remove: optionalFlag,
});
export type QuotaPayload = Static<typeof QuotaPayload>;
