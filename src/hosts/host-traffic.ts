import type { CapturedPacket } from "../packets/pcapng-reader.ts";

/** The packets of links as they pass. Methods throw lab_not_found for a lab that this user does not see. */
export interface HostTraffic {
  /**
   * Watches a link at its first end that is a node: each packet once, in order, its beginning. Goes on when that node is stopped and started. Ends when
   * `signal` aborts, or with link_not_found when the link is gone. `onPacket` is to be quick: while it works nothing more is read, and what comes too
   * fast is dropped, and told.
   */
  watch(lab: string, linkId: string, listener: TrafficListener, signal: AbortSignal): Promise<void>;
  /** A pcap filter as `packets/bpf.ts` reads it. Throws bad_request with what is wrong with it. */
  compile(filter: string): Promise<string>;
}

export interface TrafficListener {
  /** `from`: the index of the link's end that it comes from. */
  readonly packet: (packet: CapturedPacket, from: 0 | 1) => void;
  /** So many more were lost. */
  readonly dropped: (count: number) => void;
}
