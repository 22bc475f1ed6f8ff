import type { LabFile, LabText, Management, Position, Quality, Scalar, TrafficFilter, Vxlan } from "../../intent/lab/lab.ts";
import type { Switching } from "../../intent/lab/switching.ts";
import type { LabShape } from "../../intent/shapes/shape.ts";

/** A lab as the host holds it: its persisted definition, with the host's own ids, and the power state of each node. */
export interface ObservedLab {
  readonly path: string;
  /** The host's own id of the lab (a uuid, or a number as text). */
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly management?: Management;
  readonly locked: boolean;
  /** The host's own value of the lock, 0 if the lab is not locked. */
  readonly lock: number;
  readonly nodes: readonly ObservedNode[];
  readonly networks: readonly ObservedNetwork[];
  readonly links: readonly ObservedLink[];
  readonly texts: readonly LabText[];
  readonly trafficFilters: readonly TrafficFilter[];
  /** Machines of a fleet that may have more nodes of the lab, which nobody has seen, and that do not answer now. Absent: none. */
  readonly unseen?: readonly string[];
  /** Shapes in the host's own drawing, for a lab without an intent. Never compared and never written. Absent: none. */
  readonly shapes?: readonly LabShape[];
}

/** unknown: a node runs under this node's number on the host, and it is or may be another lab's node (see `clash`). */
export type Power = "stopped" | "starting" | "running" | "stopping" | "suspended" | "failed" | "unknown";

/** The other node that runs, or may run, under a node's number. For hosts whose labs share numbers. */
export interface NumberClash {
  readonly number: number;
  /** Path of the lab and name of its node; absent if no lab of the host has the number. */
  readonly lab?: string;
  readonly node?: string;
  /** false: the running node may also be this lab's own. */
  readonly certain: boolean;
}

export interface ObservedNode {
  /** Native id. */
  readonly id: string;
  readonly name: string;
  readonly template: string;
  /** The template's type: linux, router, switch, pc, qemu … */
  readonly type: string;
  readonly image?: string;
  readonly icon?: string;
  readonly kernel?: "own";
  readonly startupConfig?: string;
  readonly files?: Readonly<Record<string, LabFile>>;
  readonly binds?: readonly string[];
  readonly switching?: Switching;
  readonly ports?: readonly string[];
  readonly mgmtIpv4?: string;
  readonly mgmtIpv6?: string;
  readonly sshKeys?: readonly string[];
  readonly exec: readonly string[];
  readonly cpu?: number;
  readonly ram?: number;
  readonly ethernet: number;
  /** The declared power, as persisted by the host; absent if none is declared. */
  readonly start?: boolean;
  readonly position?: Position;
  readonly env: Readonly<Record<string, string>>;
  readonly attributes: Readonly<Record<string, Scalar>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly power: Power;
  /** Set if power is unknown. */
  readonly clash?: NumberClash;
  /** The node has failed, and the host starts it only after a wipe. */
  readonly stuck?: true;
  readonly consoleType: "telnet" | "serial" | "vnc" | "none";
  /** The limits that the host enforces; absent: none, or the host does not report them. */
  readonly limits?: ObservedLimits;
  readonly interfaces: readonly ObservedInterface[];
}

/** A limit is absent if the host does not enforce it. */
export interface ObservedLimits {
  /** Cores. */
  readonly cpu?: number;
  readonly memoryBytes?: number;
  /** Processes and threads. */
  readonly processes?: number;
  /** Bytes of all files together. */
  readonly diskBytes?: number;
}

export interface ObservedInterface {
  readonly index: number;
  readonly name: string;
  readonly type: "ethernet" | "serial";
  readonly mac?: string;
}

export interface ObservedNetwork {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly icon?: string;
  readonly position?: Position;
  readonly vxlan?: Vxlan;
}

export type ObservedEndpoint = { readonly nodeId: string; readonly interface: string } | { readonly networkId: string };

export interface ObservedLink {
  readonly id: string;
  readonly endpoints: readonly [ObservedEndpoint, ObservedEndpoint];
  readonly quality?: { readonly a?: Quality; readonly b?: Quality };
  readonly suspended?: { readonly a: boolean; readonly b: boolean };
  readonly mtu?: number;
}
