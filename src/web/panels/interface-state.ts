import type { InspectedInterface } from "../../contract/schemas/observe.ts";

export interface InterfaceInput {
  readonly port: Pick<InspectedInterface, "link" | "peer" | "suspended">;
  /** State of the node itself. */
  readonly status: string;
  /** Whether the other end of its link is suspended. */
  readonly isPeerSuspended: boolean;
  /** State of the node at the other end; undefined: a network. */
  readonly peerStatus: string | undefined;
}

export interface InterfaceState {
  readonly text: "up" | "down" | "no carrier" | "no link";
  /** For people; absent if the text is enough. */
  readonly reason?: string;
}

const running: ReadonlySet<string> = new Set(["running", "starting"]);

/** Returns the state of an interface, and its reason: both ends of a link decide whether it has a carrier. */
export function interfaceState({ port, status, isPeerSuspended, peerStatus }: InterfaceInput): InterfaceState {
  if (!running.has(status)) return { text: "down", reason: `the node is ${status}` };
  if (port.link === undefined) return { text: "no link" };
  if (port.suspended) return { text: "no carrier", reason: "this interface is suspended" };
  if (isPeerSuspended) return { text: "no carrier", reason: "the other end is suspended" };
  if (peerStatus !== undefined && !running.has(peerStatus))
    return { text: "no carrier", reason: `${port.peer ?? "its peer"} is ${peerStatus}` };
  return { text: "up" };
}
