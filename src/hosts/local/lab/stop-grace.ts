/** How long a stop waits for nodes to end by themselves before it switches them off, in ms. */
export interface StopGrace {
  /** For all nodes in mode graceful. */
  readonly graceful: number;
  /** For namespaces and containers in mode auto. */
  readonly node: number;
  /** For virtual machines in mode auto. */
  readonly machine: number;
}

export const stopGrace: StopGrace = { graceful: 60_000, node: 5_000, machine: 30_000 };
