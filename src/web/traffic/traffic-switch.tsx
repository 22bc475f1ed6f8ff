import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import { lazy } from "../parts/lazy.tsx";
import { useFeature } from "../parts/use-feature.ts";
import type { OverlayProps } from "../topology/topology.tsx";
import type { Chosen } from "./traffic-bar.tsx";
import "./traffic-switch.css";

const TrafficBar = lazy(() => import("./traffic-bar.tsx"));

interface TrafficSwitchProps {
  readonly lab: string;
  /** What is chosen in the topology. */
  readonly chosen: Chosen | undefined;
  readonly onOverlay: (overlay: ComponentType<OverlayProps> | undefined) => void;
}

/** Shows a lab's packets on its links while it is on; nothing where the host cannot tell them. */
export function TrafficSwitch({ lab, chosen, onOverlay }: TrafficSwitchProps) {
  const { data: able } = useFeature("traffic");
  const [on, setOn] = useState(false);
  if (able !== true) return null;
  return (
    <div class="traffic-switch">
      <button type="button" aria-pressed={on} onClick={() => setOn(!on)}>
        Live traffic
      </button>
      {on && <TrafficBar lab={lab} chosen={chosen} onOverlay={onOverlay} />}
    </div>
  );
}
