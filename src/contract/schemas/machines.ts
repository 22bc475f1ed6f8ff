import Type, { type Static } from "typebox";
import { flag, integer, list, map, name, number, optionalFlag, optionalInteger, optionalText, text, time, word } from "./shapes.ts";

const state = word(["active", "cordoned"]);

/** A machine of the fleet. Memory: MiB. */
export const MachineData = Type.Object({
  name: text,
  /** Address at which the other machines reach it. */
  url: text,
  /** cordoned: it gets no new labs. */
  state,
  /** true: its labs move to other machines. Absent: they stay. */
  draining: optionalFlag,
  /** It has reported within the last 9 seconds. */
  answers: flag,
  /** true: it has answered this call. Absent: another one. */
  own: optionalFlag,
  /** false: it only answers calls, and passes those about labs on (--host none). Absent: it runs labs. */
  runs_labs: optionalFlag,
  labels: map(text),
  /** Release of its service. */
  version: text,
  processors: integer,
  /** Average number of running processes in the last minute. */
  load: number,
  memory_mib: integer,
  available_memory_mib: integer,
  labs: integer,
  /** Labs of other machines that have nodes on it. Absent: none. */
  parts: optionalInteger,
  joined_at: time,
  /** Its last report. */
  seen_at: time,
  /** Why the machine that answers this call passes no calls on to it: their releases are too far apart, or it has no connection to it. With the next step. */
  problem: Type.Optional(text),
});
export type MachineData = Static<typeof MachineData>;

/** Sorted by name. */
export const MachinesData = Type.Object({ machines: list(MachineData) });
export type MachinesData = Static<typeof MachinesData>;

/** Absent fields stay as they are. labels: replaces all labels. */
export const MachinePayload = Type.Object({
  name,
  state: Type.Optional(state),
  labels: Type.Optional(map(Type.String({ maxLength: 255 }))),
});
export type MachinePayload = Static<typeof MachinePayload>;

/** force: also a machine that answers and has labs. */
export const MachineRemovePayload = Type.Object({ name, force: optionalFlag });
export type MachineRemovePayload = Static<typeof MachineRemovePayload>;

/** stop_labs: running labs are stopped, moved and started, too. look: nothing begins, the answer is the state of the drain. */
export const DrainPayload = Type.Object({ name, stop_labs: optionalFlag, look: optionalFlag });
export type DrainPayload = Static<typeof DrainPayload>;

/** The drain of a machine. */
export const DrainData = Type.Object({
  machine: text,
  draining: flag,
  stop_labs: flag,
  /** Labs that move: those that wait, and all that were tried since the drain was asked for. */
  moves: list(
    Type.Object({
      lab: text,
      state: word(["waiting", "moving", "moved", "failed", "cancelled"]),
      /** The machine that has the lab now. */
      machine: optionalText,
      job: optionalText,
      /** Why it failed, or what is different now, for people. */
      text: optionalText,
    }),
  ),
  /** Labs that stay for now, and what moves them, for people. */
  staying: list(Type.Object({ lab: text, reason: text, hint: text })),
});
export type DrainData = Static<typeof DrainData>;

/** hours: lifetime of the token; absent: 1. */
export const JoinTokenPayload = Type.Object({ hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 168 })) });
export type JoinTokenPayload = Static<typeof JoinTokenPayload>;

export const JoinTokenData = Type.Object({ token: text, expires_at: time });
export type JoinTokenData = Static<typeof JoinTokenData>;

/** The machine of a new lab, and the reasons, for people. */
export const PlacementData = Type.Object({ machine: text, reasons: list(text) });

/** An image that the lab's machine lacks and fetches from another machine of the fleet. */
export const ImageFetchData = Type.Object({ image: text, machine: text, size_bytes: integer });
