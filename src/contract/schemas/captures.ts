import Type, { type Static } from "typebox";
import { selectorFields } from "./project.ts";
import { integer, list, name, number, optionalText, text, time, word } from "./shapes.ts";

export const CapturePayload = Type.Object({
  ...selectorFields,
  node: name,
  interface: name,
  /** A pcap filter. */
  filter: Type.Optional(Type.String({ maxLength: 4096 })),
  /** Bytes kept of each packet. */
  snaplen: Type.Optional(Type.Integer({ minimum: 1, maximum: 262_144 })),
});
export type CapturePayload = Static<typeof CapturePayload>;

export const CaptureStartData = Type.Object({ capture: text, node: text, interface: text, url: text, started_at: time });
export type CaptureStartData = Static<typeof CaptureStartData>;

export const CaptureData = Type.Object({
  capture: text,
  lab: text,
  node: text,
  interface: text,
  filter: optionalText,
  snaplen: Type.Optional(integer),
  url: text,
  started_at: time,
  stopped_at: Type.Optional(time),
  status: word(["running", "stopped", "failed"]),
  packets: Type.Optional(number),
  size_bytes: Type.Optional(number),
});
export type CaptureData = Static<typeof CaptureData>;

export const CapturesQuery = Type.Object({ lab: optionalText });
export type CapturesQuery = Static<typeof CapturesQuery>;

export const CapturesData = Type.Object({ captures: list(CaptureData) });
export type CapturesData = Static<typeof CapturesData>;
