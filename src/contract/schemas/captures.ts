import Type, { type Static } from "typebox";
import { selectorFields } from "./project.ts";
import { flag, integer, list, name, number, optionalText, text, time, word } from "./shapes.ts";

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
  /** Why the capture ended; absent if a user stopped it. */
  reason: optionalText,
  /** Taken so far. */
  packets: Type.Optional(number),
  /** Lost, because nothing was fast enough to take them. */
  dropped: Type.Optional(number),
  size_bytes: Type.Optional(number),
  /** The most that is kept: beyond it the oldest packets go. */
  max_bytes: Type.Optional(number),
  /** The oldest packets are gone. */
  truncated: Type.Optional(flag),
  /** When the packets of an ended capture are deleted. */
  expires_at: Type.Optional(time),
});
export type CaptureData = Static<typeof CaptureData>;

export const CapturesQuery = Type.Object({ lab: optionalText });
export type CapturesQuery = Static<typeof CapturesQuery>;

/** unreachable: machines of the fleet that do not answer, whose captures are missing. */
export const CapturesData = Type.Object({ captures: list(CaptureData), unreachable: Type.Optional(list(text)) });
export type CapturesData = Static<typeof CapturesData>;

export const CaptureRemovedData = Type.Object({ capture: text });
export type CaptureRemovedData = Static<typeof CaptureRemovedData>;

/** stream: the one-time ticket for streamCapture. */
export const CaptureAttachData = Type.Object({ capture: text, stream: text, transport: word(["host-capture"]) });
export type CaptureAttachData = Static<typeof CaptureAttachData>;

export const CapturePacketsQuery = Type.Object({
  /** A number: only packets after it. */
  after: Type.Optional(Type.String({ pattern: "^[0-9]{1,9}$" })),
  /** Maximum number of packets, 1 to 1000; default 100. */
  limit: Type.Optional(Type.String({ pattern: "^[0-9]{1,4}$" })),
  /** Number of matching packets to skip: 1000 starts with the 1001st packet that matches the filter. */
  skip: Type.Optional(Type.String({ pattern: "^[0-9]{1,9}$" })),
  /** A Wireshark display filter. */
  filter: Type.Optional(Type.String({ maxLength: 4096 })),
});
export type CapturePacketsQuery = Static<typeof CapturePacketsQuery>;

export const CapturePacketRow = Type.Object({
  number: integer,
  at: time,
  from: text,
  to: text,
  protocols: list(text),
  length: integer,
  summary: text,
});
export type CapturePacketRow = Static<typeof CapturePacketRow>;

/** Packet numbers are stable while `view` is the same. A full ring drops its oldest packets, which changes `view`. */
export const CapturePacketsData = Type.Object({
  capture: text,
  view: text,
  total: integer,
  /** Number of these packets that match the filter. */
  matching: Type.Optional(integer),
  packets: list(CapturePacketRow),
});
export type CapturePacketsData = Static<typeof CapturePacketsData>;

export const CapturePacketParams = Type.Object({ id: text, number: Type.String({ pattern: "^[1-9][0-9]{0,8}$" }) });
export type CapturePacketParams = Static<typeof CapturePacketParams>;

/** Bytes that the decoder put together: of several packets, or decompressed; in hexadecimal. */
export const PacketSource = Type.Object({ name: text, bytes: text });
export type PacketSource = Static<typeof PacketSource>;

/** tree: nodes {label, filter?, offset?, length?, source?, severity?, packet?, children?}; bytes: hexadecimal. */
export const CapturePacketData = Type.Object({
  capture: text,
  number: integer,
  view: text,
  bytes: text,
  /** Byte sources other than the packet itself, such as reassembled or decrypted data. */
  sources: Type.Optional(list(PacketSource)),
  tree: list(Type.Unsafe<PacketNode>({ type: "object" })),
});
export type CapturePacketData = Static<typeof CapturePacketData>;

export interface PacketNode {
  readonly label: string;
  /** A display filter for packets that are alike in this. */
  readonly filter?: string;
  /** Offset of the field in the packet's bytes, or in the bytes of its source. */
  readonly offset?: number;
  readonly length?: number;
  /** Index in `sources`, from 0; absent: the packet's own bytes. */
  readonly source?: number;
  /** Severity that the decoder assigns: Chat, Note, Warning, Error. */
  readonly severity?: string;
  /** Number of a related packet, such as the response to this packet. */
  readonly packet?: number;
  readonly children?: readonly PacketNode[];
}
