import type { ComponentType } from "preact";
import type { OverlayProps } from "../topology/topology.tsx";
import type { LiveTraffic } from "./feed/live-traffic.ts";

/** The watched traffic, and the component that draws it over the topology. */
export interface ShownTraffic {
  readonly traffic: LiveTraffic;
  readonly Overlay: ComponentType<OverlayProps>;
}
