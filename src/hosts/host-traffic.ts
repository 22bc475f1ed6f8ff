import type { CapturedPacket } from "../packets/pcapng-reader.ts";

/** Live packets of links. Methods throw lab_not_found for a lab that this user does not see. */
export interface HostTraffic {
  /**
   * Watches a link at its first end that is a node: the beginning of each packet once, in order. Continues when that node is stopped and started.
   * Ends when `signal` aborts, or with link_not_found when the link is deleted. `onPacket` must be fast: packets that arrive while it works may be
   * dropped, and are counted.
   */
  watch(lab: string, linkId: string, listener: TrafficListener, signal: AbortSignal): Promise<void>;
  /** Counters of the links that exist now, by the host's id of the link. */
  counters(lab: string): Promise<ReadonlyMap<string, LinkCounters>>;
  /** A pcap filter as `packets/bpf.ts` parses it. Throws bad_request with the problem. */
  compile(filter: string): Promise<string>;
}

/** Packets and bytes since the link's devices exist; a restart of a node can reset them. Index 0: what the first end sent; 1: what the second end sent. */
export interface LinkCounters {
  readonly packets: readonly [number, number];
  readonly bytes: readonly [number, number];
}

export interface TrafficListener {
  /** `from`: index of the link end that sent the packet. */
  readonly packet: (packet: CapturedPacket, from: 0 | 1) => void;
  /** Number of further packets that were lost. */
  readonly dropped: (count: number) => void;
}
