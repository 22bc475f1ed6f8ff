/** Milliseconds that nodes get to end by themselves before they are switched off. */
export interface StopPatience {
  /** Of all nodes, where a graceful stop was asked for. */
  readonly graceful: number;
  /** Of a node that is no virtual machine, in mode auto. */
  readonly node: number;
  /** Of a virtual machine, in mode auto. */
  readonly machine: number;
}

export const stopPatience: StopPatience = { graceful: 60_000, node: 5_000, machine: 30_000 };
