import type { ReceivedBytes } from "../../hosts/host-fleet.ts";

/** A lab that this machine sends to another one. */
export interface SentLab {
  readonly lab: string;
  /** The digest of the last stream of its files; absent until that has ended. */
  digest?: ReceivedBytes;
}

/** The moves of labs between machines that this process works on. */
export class Moving {
  /** Job → the lab that it sends. */
  readonly sent = new Map<string, SentLab>();
  /** Jobs of other machines whose labs arrive here. */
  readonly arriving = new Set<string>();
}
