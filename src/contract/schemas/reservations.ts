import Type, { type Static } from "typebox";
import { flag, integer, list, map, name, optionalName, optionalText, text, time } from "./shapes.ts";

/** Room for all labs of a user on a machine together, from a time until another. Memory: MiB. */
export const ReservationData = Type.Object({
  id: text,
  user: text,
  from: time,
  until: time,
  memory_mib: integer,
  nodes: integer,
  /** Absent: the service is not part of a fleet. */
  machine: optionalText,
  /** It has begun. */
  active: flag,
});
export type ReservationData = Static<typeof ReservationData>;

/** Sorted by their beginnings, without those that have ended. */
export const ReservationsData = Type.Object({ reservations: list(ReservationData) });
export type ReservationsData = Static<typeof ReservationsData>;

const amount = Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 }));

/**
 * from absent: now. memory_mib absent: 32 for each node. machine, labels: the machines that may have the room; absent: all. user: for another user, for admins.
 */
export const ReservationPayload = Type.Object({
  from: Type.Optional(Type.String({ maxLength: 64 })),
  until: Type.String({ maxLength: 64 }),
  memory_mib: amount,
  nodes: amount,
  machine: optionalName,
  labels: Type.Optional(map(Type.String({ maxLength: 255 }))),
  user: optionalName,
});
export type ReservationPayload = Static<typeof ReservationPayload>;

export const ReservationRemovePayload = Type.Object({ id: name });
export type ReservationRemovePayload = Static<typeof ReservationRemovePayload>;
