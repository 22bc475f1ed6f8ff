/**
 * Packet captures of node interfaces. They run on the host, outlive the service, and end with their lab. Every method throws lab_not_found for a lab
 * that this user does not see and capture_not_found for a capture that the lab does not have.
 */
export interface HostCaptures {
  /**
   * Resolves when packets are being captured. Throws node_not_found, node_not_running, link_not_found (the interface has no port now), bad_request
   * (no such interface, an invalid filter), capture_limit, operation_not_allowed.
   */
  start(lab: string, request: CaptureRequest): Promise<HostCapture>;
  /** Newest last. */
  list(lab: string): Promise<readonly HostCapture[]>;
  get(lab: string, id: string): Promise<HostCapture>;
  /** Stops the capture and keeps its packets. A capture that has ended stays as it is. */
  stop(lab: string, id: string): Promise<HostCapture>;
  /** Stops the capture if it runs, and deletes its packets. */
  remove(lab: string, id: string): Promise<void>;
  /**
   * Returns the packets as one valid pcapng. With `follow`, continues with new packets until the capture ends or `signal` aborts.
   */
  read(lab: string, id: string, options: CaptureReadOptions): AsyncIterable<Uint8Array>;
  /** Returns decoded packets as rows. Throws bad_request for an invalid display filter, host_error if they cannot be decoded here. */
  packets(lab: string, id: string, query: CapturePacketsQuery): Promise<CapturePackets>;
  /** Returns one packet with all fields. Throws as packets does. */
  packet(lab: string, id: string, number: number): Promise<CapturePacketDetails>;
}

export interface CapturePacketsQuery {
  /** Only packets with a higher number. */
  readonly after: number;
  readonly limit: number;
  /** Number of these packets to skip; default 0. */
  readonly skip?: number;
  /** A Wireshark display filter; empty: all. */
  readonly filter: string;
}

/** Packets of one view. Numbers count from 1, and mean the same packets while `view` is the same: a full ring drops its oldest packets. */
export interface CapturePackets {
  readonly view: string;
  /** Number of packets of the decoded capture, without the filter. */
  readonly total: number;
  /** Number of packets that match the filter. */
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
  /** Data that the decoder reassembled or decompressed; bytes in hexadecimal. Absent: none. */
  readonly sources?: readonly { readonly name: string; readonly bytes: string }[];
  readonly tree: readonly PacketTreeNode[];
}

export interface PacketTreeNode {
  readonly label: string;
  /** A display filter for packets with the same value. */
  readonly filter?: string;
  /** Offset of the field in the packet's `bytes`, or in the bytes of `source`. */
  readonly offset?: number;
  readonly length?: number;
  /** Index in `sources`; absent: the packet's own bytes. */
  readonly source?: number;
  /** The decoder's severity: Chat, Note, Warning, Error. */
  readonly severity?: string;
  /** Number of another packet of the capture that the field refers to, such as its response. */
  readonly packet?: number;
  readonly children?: readonly PacketTreeNode[];
}

export interface CaptureRequest {
  readonly nodeId: string;
  /** The interface's name on the node. */
  readonly interface: string;
  /** Name of the interface in the capture: r1:eth1. */
  readonly label: string;
  /** A pcap filter. */
  readonly filter?: string;
  /** Captured bytes of each packet; absent: all. */
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
  /** Why it ended, if no user stopped it; for a running capture, the condition that it waits for. */
  readonly reason?: string;
  /** Packets captured so far. */
  readonly packets?: number;
  /** Packets lost because of overload; known when it has ended. */
  readonly dropped?: number;
  /** Bytes on disk now. */
  readonly sizeBytes: number;
  /** Maximum bytes on disk: beyond it the oldest packets are dropped. */
  readonly maxBytes: number;
  /** The oldest packets are gone. */
  readonly truncated: boolean;
  /** When its packets will be deleted, ms since 1970; absent while it runs. */
  readonly expiresAt?: number;
}
