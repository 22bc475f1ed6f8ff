import type { routingProtocols } from "../lab/vocabulary.ts";

export type RoutingProtocol = (typeof routingProtocols)[number];

/** The settings of one protocol. */
export interface RoutingSettings {
  /** Area of OSPF. Absent: 0. */
  readonly ospfArea?: number;
  /** Area of IS-IS, as in a NET. */
  readonly isisArea?: string;
  readonly level?: IsisLevel;
  /** Number of the autonomous system, of BGP. Absent: a number that follows from the name of the node. */
  readonly as?: number;
}

export const isisLevels = ["1", "2", "1-2"] as const;
export type IsisLevel = (typeof isisLevels)[number];

/** null: the protocol is off, although it is inherited. */
export type Routing = ReadonlyMap<RoutingProtocol, RoutingSettings | null>;
