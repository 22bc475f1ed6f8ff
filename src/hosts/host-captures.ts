/**
 * Captures of the packets of node interfaces. They run on the host, outlive the service, and end with their lab. Every method throws
 * lab_not_found for a lab that this user does not see and capture_not_found for a capture that the lab does not have.
 */
export interface HostCaptures {
  /**
   * Answers when packets are being taken. Throws node_not_found, node_not_running, link_not_found (the interface has no port now), bad_request
   * (no such interface, a wrong filter), capture_limit, operation_not_allowed.
   */
  start(lab: string, request: CaptureRequest): Promise<HostCapture>;
  /** Newest last. */
  list(lab: string): Promise<readonly HostCapture[]>;
  get(lab: string, id: string): Promise<HostCapture>;
  /** Its packets stay. One that has ended stays as it is. */
  stop(lab: string, id: string): Promise<HostCapture>;
  /** Stops it where it runs; its packets go. */
  remove(lab: string, id: string): Promise<void>;
  /**
   * The packets as one well-formed pcapng: those there are now, or with `follow` also all that come until the capture ends or `signal` aborts.
   */
  read(lab: string, id: string, options: CaptureReadOptions): AsyncIterable<Uint8Array>;
  /** Packets as rows, decoded. Throws bad_request for a wrong display filter, host_error where they cannot be decoded here. */
  packets(lab: string, id: string, query: CapturePacketsQuery): Promise<CapturePackets>;
  /** One packet to the last field. Throws as packets. */
  packet(lab: string, id: string, number: number): Promise<CapturePacketDetails>;
}

export interface CapturePacketsQuery {
  /** Only packets with a higher number. */
  readonly after: number;
  readonly limit: number;
  /** So many of them are left out; default 0. */
  readonly skip?: number;
  /** A Wireshark display filter; empty: all. */
  readonly filter: string;
}

/** Numbers count from 1 on, and mean the same packets as long as `view` is the same: a ring that is full drops its oldest packets. */
export interface CapturePackets {
  readonly view: string;
  /** Of the capture as it is decoded, whatever the filter. */
  readonly total: number;
  /** Of them, those that the filter takes. */
  readonly matching: number;
  readonly packets: readonly CapturePacketRow[];
}

export interface CapturePacketRow {
  readonly number: number;
  /** RFC 3339, microseconds. */
  readonly at: string;
  /** Addresses. */
  readonly from: string;
  readonly to: string;
  /** From the outside in. */
  readonly protocols: readonly string[];
  /** On the wire, bytes. */
  readonly length: number;
  readonly summary: string;
}

export interface CapturePacketDetails {
  readonly number: number;
  readonly view: string;
  /** Hexadecimal. */
  readonly bytes: string;
  /** What the decoder put together of several packets, or decompressed; bytes in hexadecimal. Absent: nothing. */
  readonly sources?: readonly { readonly name: string; readonly bytes: string }[];
  readonly tree: readonly PacketTreeNode[];
}

export interface PacketTreeNode {
  readonly label: string;
  /** A display filter for packets that are alike in this. */
  readonly filter?: string;
  /** Where in `bytes`, or in those of its source, it stands. */
  readonly offset?: number;
  readonly length?: number;
  /** Index in `sources`; absent: the packet's own bytes. */
  readonly source?: number;
  /** What the decoder thinks of it: Chat, Note, Warning, Error. */
  readonly severity?: string;
  /** Number of another packet of the capture that it speaks of, such as the one that answers this one. */
  readonly packet?: number;
  readonly children?: readonly PacketTreeNode[];
}

export interface CaptureRequest {
  readonly nodeId: string;
  /** The interface's name on the node. */
  readonly interface: string;
  /** What the interface is called in the capture: r1:eth1. */
  readonly label: string;
  /** A pcap filter. */
  readonly filter?: string;
  /** Bytes kept of each packet; absent: all. */
  readonly snaplen?: number;
}

export interface CaptureReadOptions {
  readonly follow: boolean;
  readonly signal?: AbortSignal;
}

export interface HostCapture extends CaptureRequest {
  readonly id: string;
  /** ms since 1970. */
  readonly startedAt: number;
  readonly stoppedAt?: number;
  readonly status: "running" | "stopped" | "failed";
  /** Why it ended, where nobody stopped it; of a running one, what it waits for. */
  readonly reason?: string;
  /** Taken so far. */
  readonly packets?: number;
  /** Lost, because nothing was fast enough to take them; known when it has ended. */
  readonly dropped?: number;
  /** On disk now. */
  readonly sizeBytes: number;
  /** The most that is kept on disk: beyond it the oldest packets go. */
  readonly maxBytes: number;
  /** The oldest packets are gone. */
  readonly truncated: boolean;
  /** Until when its packets are kept, ms since 1970; absent while it runs. */
  readonly expiresAt?: number;
}
