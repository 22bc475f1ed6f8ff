import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import { lazy } from "../parts/lazy.tsx";
import { useFeature } from "../parts/use-feature.ts";
import type { OverlayProps } from "../topology/topology.tsx";
import type { TrafficSelection } from "./use-traffic.ts";
import "./traffic-switch.css";

const TrafficBar = lazy(() => import("./traffic-bar.tsx"));

interface TrafficSwitchProps {
  readonly lab: string;
  /** The selection in the topology. */
  readonly selection: TrafficSelection | undefined;
  readonly onOverlay: (overlay: ComponentType<OverlayProps> | undefined) => void;
}

/** Switches the live traffic of a lab on and off. Empty if the host does not support it. */
export function TrafficSwitch({ lab, selection, onOverlay }: TrafficSwitchProps) {
  const { data: isSupported } = useFeature("traffic");
  const [isOn, setIsOn] = useState(false);
  if (isSupported !== true) return null;
  return (
    <div class="traffic-switch">
      <button type="button" aria-pressed={isOn} onClick={() => setIsOn(!isOn)}>
        Live traffic
      </button>
      {isOn && <TrafficBar lab={lab} selection={selection} onOverlay={onOverlay} />}
    </div>
  );
}
