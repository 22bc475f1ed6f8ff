/** A packet that passes a link, as one line of the traffic stream. */
export interface TrafficPacket {
  readonly at: string;
  /** Key of the link. */
  readonly link: string;
  /** "r1:eth1", or the key of a network. */
  readonly from: string;
  readonly to: string;
  /** Length on the wire, bytes. */
  readonly length: number;
  readonly protocols: readonly string[];
  readonly summary: string;
  /** Name of the first traffic filter that matches; null: none. */
  readonly filter: string | null;
}

/** Counts of one second: the host saw `seen` packets, the stream contains `told` of them (the name is fixed by API v1), and `dropped` were lost before. */
export interface TrafficSample {
  readonly seen: number;
  readonly told: number;
  readonly dropped: number;
}

/** The rate of one direction of a link, from the host's counters; per second. */
export interface LinkRate extends Pick<TrafficPacket, "link" | "from" | "to"> {
  readonly packets: number;
  readonly bits: number;
}

export type TrafficLine = TrafficPacket | { readonly sampled: TrafficSample } | { readonly rates: { readonly links: readonly LinkRate[] } };
