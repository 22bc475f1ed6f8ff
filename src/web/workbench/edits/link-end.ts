/** An end of a link at a node, and the interfaces that it may have. */
export interface LinkEnd {
  readonly node: string;
  readonly interface: string;
  /** With the present one. */
  readonly choices: readonly string[];
}
