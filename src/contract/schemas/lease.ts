import Type, { type Static } from "typebox";
import { selectorFields } from "./project.ts";
import { integer, optionalInteger, text, time, word } from "./shapes.ts";

/**
 * at_end: what happens at the end of the lease. for_ms, idle_ms: as the intent has them. ends_at, with the reason: when it ends unless the lab is used or
 * the lease is extended; the end may be later, because warnings come first. ended_at: it has ended, and a start of nodes begins it again. failed: why the last
 * attempt to end it failed; it is repeated.
 */
export const LeaseState = Type.Object({
  at_end: word(["stop", "destroy"]),
  for_ms: optionalInteger,
  idle_ms: optionalInteger,
  ends_at: Type.Optional(time),
  reason: Type.Optional(word(["time", "idle"])),
  ended_at: Type.Optional(time),
  failed: Type.Optional(Type.Object({ code: text, error: text })),
});
export type LeaseState = Static<typeof LeaseState>;

/** extend_ms: how much later than now announced the lease ends. */
export const LeasePayload = Type.Object({ ...selectorFields, extend_ms: integer });
export type LeasePayload = Static<typeof LeasePayload>;

export const LeaseData = Type.Object({ lab: text, lease: LeaseState });
export type LeaseData = Static<typeof LeaseData>;
