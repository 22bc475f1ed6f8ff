/** The machine of a new lab, and the reasons for it, for people. */
export interface PlacementFacts {
  readonly machine: string;
  readonly reasons: readonly string[];
}

/** Thrown by a use case whose lab, ticket or capture belongs to another machine of the fleet: the server passes the call on. */
export class Elsewhere extends Error {
  override readonly name = "Elsewhere";
  /** Number of that machine. */
  readonly machine: number;
  /** The lab whose owner it is, if the call is about a lab. */
  readonly lab: string | undefined;
  /** Present for a new lab. */
  readonly placement: PlacementFacts | undefined;

  constructor(machine: number, lab?: string, placement?: PlacementFacts) {
    super(`the call is for machine ${machine}`);
    this.machine = machine;
    this.lab = lab;
    this.placement = placement;
  }
}
