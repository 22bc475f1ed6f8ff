/** A packet that passes a link, in the lab's words; one line of the stream. */
export interface TrafficPacket {
  readonly at: string;
  /** Key of the link. */
  readonly link: string;
  /** "r1:eth1", or the key of a network. */
  readonly from: string;
  readonly to: string;
  /** On the wire, bytes. */
  readonly length: number;
  readonly protocols: readonly string[];
  readonly summary: string;
  /** Name of the traffic filter that takes it; null: none does. */
  readonly filter: string | null;
}

/** Of so many packets of a second that were seen so many were told; `dropped` were lost before. */
export interface TrafficSample {
  readonly seen: number;
  readonly told: number;
  readonly dropped: number;
}

export type TrafficLine = TrafficPacket | { readonly sampled: TrafficSample };
