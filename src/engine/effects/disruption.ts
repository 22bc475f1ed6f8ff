import type { Disruption } from "../model/plan.ts";

const ranks: Readonly<Record<Disruption, number>> = { none: 0, link: 1, restart: 2, stop: 3, recreate: 4 };

/** Returns the disruption that disturbs running nodes more. */
export function heavier(a: Disruption, b: Disruption): Disruption {
  return ranks[a] >= ranks[b] ? a : b;
}
